# SPDX-License-Identifier: BSD-3-Clause
"""hook_times.py: where the steps of two twins spend their time, hook by hook.

Twins differ in one place, but what that place costs may turn up in another: a layout
chosen in the forward pass slows the backward pass. So all hooks are timed in both
twins, and those that take longer in the slow one, beyond what steps differ anyway, are
what the fix saves. On a CPU nothing runs behind the host's back: a moment of the slow
run comes, without the pattern, when all before it has taken the fixed twin's time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from workloads.training import HOOKS, Training

#: Chosen: of a two-sided rank test; with 8 steps of each twin, one in a hundred hooks
#: that are alike is taken for different.
SIGNIFICANT = 0.01

#: What of a step is in none of its hooks.
REST = "step"


@dataclass
class Steps:
    """When each hook of each step began and ended, in ns of the system's clock."""

    hooks: list[list[tuple[str, int, int]]] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)

    def lengths(self, hook: str) -> list[int]:
        """Return what a hook took in each step, 0 where it was not called."""
        return [
            sum(end - begin for name, begin, end in step if name == hook)
            for step in self.hooks
        ]

    def rests(self) -> list[int]:
        """Return what of each step was in no hook."""
        return [
            end - begin - sum(e - b for _, b, e in step)
            for step, (begin, end) in zip(self.hooks, self.spans, strict=True)
        ]


def watch(run: Training) -> Steps:
    """Let a run note its hooks' times from now on.

    The hooks are replaced on the object: the classes, and what they call of their
    parents', stay as they are.
    """
    steps = Steps()
    for hook in HOOKS:
        setattr(run, hook, _noting(hook, getattr(run, hook), steps))
    step = run.step

    def whole() -> Any:
        steps.hooks.append([])
        begin = time.time_ns()
        result = step()
        steps.spans.append((begin, time.time_ns()))
        return result

    run.step = whole  # type: ignore[method-assign]
    return steps


def _noting(hook: str, call: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    def noting(*args: Any) -> Any:
        begin = time.time_ns()
        result = call(*args)
        steps.hooks[-1].append((hook, begin, time.time_ns()))
        return result

    return noting


def factors(slow: Steps, fixed: Steps) -> dict[str, float]:
    """Return, for each hook whose length differs, fixed over slow; REST likewise."""
    from scipy.stats import mannwhitneyu

    found = {}
    for name in (*HOOKS, REST):
        a = slow.rests() if name == REST else slow.lengths(name)
        b = fixed.rests() if name == REST else fixed.lengths(name)
        if not any(a) or mannwhitneyu(a, b).pvalue >= SIGNIFICANT:
            continue
        found[name] = statistics.median(b) / max(statistics.median(a), 1)
    return found


def moments(
    steps: Steps, factor: dict[str, float], shown: Sequence[int], base_ns: int
) -> np.ndarray:
    """Return int64 [2, moments]: those of a run, and when they come with each hook at
    ``factor`` times its length.

    Args:
        steps: Of the run.
        factor: By hook; 1 where it is missing.
        shown: Which steps the trace shows, in order.
        base_ns: What the trace's clock counts from.
    """
    before, after = [], []
    here = there = 0
    for i in shown:
        begin, end = steps.spans[i]
        # Between two steps nothing changes.
        there += begin - here if before else begin
        here = begin
        before.append(here)
        after.append(there)
        for name, start, stop in steps.hooks[i]:
            for until, part in ((start, REST), (stop, name)):
                there += round((until - here) * factor.get(part, 1))
                here = until
                before.append(here)
                after.append(there)
        there += round((end - here) * factor.get(REST, 1))
        here = end
        before.append(here)
        after.append(there)
    return np.array([before, after], np.int64) - base_ns
