# SPDX-License-Identifier: BSD-3-Clause
"""hook_times.py: where the steps of two twins spend their time, hook by hook.

Twins differ in one place, but what that place costs may turn up in another: a layout
chosen in the forward pass slows the backward pass. So all hooks are timed in both
twins, and those that take longer in the slow one, beyond what steps differ anyway, are
what the fix saves; where within a hook, `placed` says. On a CPU nothing runs
behind the host's back: a moment of the slow run comes, without the pattern, when all
before it has taken the fixed twin's time.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import numpy as np

import torchtraceap
from benchmarks.lab.corpus.workloads.training import HOOKS, Training

#: Chosen: of two-sided rank tests of all hooks together (Holm): in one pair of a
#: hundred that are alike any hook is taken for different.
SIGNIFICANT = 0.01

#: Of a step: a hook that differs by less is not worth telling, whatever the test says.
LEAST_EFFECT = 0.02

#: What of a step is in none of its hooks.
REST = "step"


#: A hook's name, begin and end.
Hook = tuple[str, int, int]
#: When a piece of a hook ends, and what it takes in the fixed twin, in ns.
Piece = tuple[int, int]


@dataclass
class Steps:
    """When each hook of each step began and ended, in ns of the system's clock."""

    hooks: list[list[Hook]] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)

    def only(self, numbers: Sequence[int]) -> Steps:
        """Return some of them."""
        return Steps([self.hooks[i] for i in numbers], [self.spans[i] for i in numbers])

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
    """Return, for each hook whose length differs, fixed over slow; REST likewise.

    The steps are to be recorded ones of both twins: a profiler makes others longer.
    """
    from scipy.stats import mannwhitneyu

    lengths = {
        name: (slow.rests(), fixed.rests())
        if name == REST
        else (slow.lengths(name), fixed.lengths(name))
        for name in (*HOOKS, REST)
    }
    lengths = {name: (a, b) for name, (a, b) in lengths.items() if any(a)}
    chance = {name: mannwhitneyu(a, b).pvalue for name, (a, b) in lengths.items()}
    step = statistics.median(end - begin for begin, end in slow.spans)
    found = {}
    for place, name in enumerate(sorted(chance, key=lambda name: chance[name])):
        if chance[name] >= SIGNIFICANT / (len(chance) - place):
            break
        a, b = map(statistics.median, lengths[name])
        if abs(a - b) >= LEAST_EFFECT * step:
            found[name] = b / max(a, 1)
    return found


def doubt(slow: Steps, fixed: Steps, changed: Collection[str]) -> float:
    """Return by how much of a step what is not in `changed` may differ all the same.

    It is half of a 95 % interval of the difference of medians, from quartiles.
    """

    def others(steps: Steps) -> list[int]:
        left = [end - begin for begin, end in steps.spans]
        for name in changed:
            mine = steps.rests() if name == REST else steps.lengths(name)
            left = [a - b for a, b in zip(left, mine, strict=True)]
        return left

    variance = 0.0
    for steps in (slow, fixed):
        first, _, third = statistics.quantiles(others(steps), method="inclusive")
        # As of a normal distribution, whose medians vary by a quarter more than means.
        variance += (1.25 * (third - first) / 1.349) ** 2 / len(steps.spans)
    step = statistics.median(end - begin for begin, end in slow.spans)
    return 1.96 * math.sqrt(variance) / step


def moments(
    steps: Steps,
    factor: dict[str, float],
    shown: Sequence[int],
    base_ns: int,
    pieces: Callable[[int, int], list[Piece] | None] = lambda step, place: None,
) -> np.ndarray:
    """Return int64 [2, moments]: those of a run, and when they come with each hook at
    ``factor`` times its length.

    Args:
        steps: The steps of the run.
        factor: By hook; 1 where it is missing.
        shown: Which steps the trace shows, in order.
        base_ns: What the trace's clock counts from.
        pieces: Pieces of a hook, by its step and its place there; None: all of it
            alike.
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
        for place, (name, start, stop) in enumerate(steps.hooks[i]):
            whole = [(stop, round((stop - start) * factor.get(name, 1)))]
            rest = (start, round((start - here) * factor.get(REST, 1)))
            for until, length in (rest, *(pieces(i, place) or whole)):
                there += length
                here = until
                before.append(here)
                after.append(there)
        there += round((end - here) * factor.get(REST, 1))
        here = end
        before.append(here)
        after.append(there)
    return np.array([before, after], np.int64) - base_ns


# --- Where within a hook ---------------------------------------------------------
#
# The saving of a hook is measured; its place follows from the operators that only the
# slow twin has. Otherwise twins run the same operators in the same order.

#: Of both twins, in a hook. Matching equal names takes cubic time: seconds for this
#: number, half a minute for twice as many.
MOST_OPERATORS = 3_000


@dataclass(frozen=True)
class Operators:
    """The outermost operators of a recording's busiest thread, by start, in ns of the
    system's clock."""

    names: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def within(self, begin: int, end: int) -> Operators:
        """Return those that begin in a stretch."""
        first, last = np.searchsorted(self.begin, (begin, end))
        return Operators(*(a[first:last] for a in (self.names, self.begin, self.end)))


def operators_of(recording: bytes, base_ns: int) -> Operators:
    """Return the outermost operators of a trace whose clock counts from `base_ns`."""
    trace = torchtraceap.load(recording)
    c = trace.columns
    kinds = [i for i, kind in enumerate(trace.category_names) if kind == "cpu_op"]
    rows = np.flatnonzero(np.isin(c["category"], kinds) & (c["phase"] == b"X"))
    threads, counts = np.unique(c["tid"][rows], return_counts=True)
    rows = rows[c["tid"][rows] == threads[counts.argmax()]] if len(rows) else rows
    rows = rows[np.lexsort((-c["dur"][rows], c["ts"][rows]))]
    ends = c["ts"][rows] + c["dur"][rows]
    # At the same start the longest comes first: the one that ends last is outside.
    outside = np.ones(len(rows), bool)
    outside[1:] = c["ts"][rows][1:] >= np.maximum.accumulate(ends)[:-1]
    names = np.array(trace.strings, dtype=object)[c["name"][rows[outside]]]
    return Operators(
        names,
        c["ts"][rows[outside]] + base_ns,
        ends[outside].astype(np.int64) + base_ns,
    )


def placed(
    slow: tuple[Steps, Operators, Sequence[int]],
    fixed: tuple[Steps, Operators, Sequence[int]],
    factor: dict[str, float],
) -> Callable[[int, int], list[Piece] | None]:
    """Return what tells the pieces of a hook of the slow twin, by its step and its
    place in it; None where nothing is known but the whole.

    Args:
        slow: All its steps, the operators of its recording, which steps that shows.
        fixed: The same of its twin.
        factor: By hook: how long it takes in the fixed twin, over the slow.
    """
    steps, ours, shown = slow
    others, theirs, beside = fixed
    partner = dict(zip(shown, beside, strict=False))

    def pieces(step: int, place: int) -> list[Piece] | None:
        hook = steps.hooks[step][place]
        if step not in partner or factor.get(hook[0], 1.0) >= 1:
            return None
        same = [h for h in others.hooks[partner[step]] if h[0] == hook[0]]
        before = sum(h[0] == hook[0] for h in steps.hooks[step][:place])
        if before >= len(same):
            return None
        saving = round((1 - factor[hook[0]]) * (hook[2] - hook[1]))
        return cut(ours, theirs, hook, same[before], saving)

    return pieces


def cut(
    ours: Operators, theirs: Operators, hook: Hook, other: Hook, saving: int
) -> list[Piece] | None:
    """Cut a hook where operators of both twins begin and end, and take `saving` out of
    the pieces in which it has operators of its own; the remainder comes from
    where it takes longer, then from everywhere. None if no operator is in both, or if
    they are more than MOST_OPERATORS.
    """
    a, b = ours.within(*hook[1:]), theirs.within(*other[1:])
    if len(a.names) + len(b.names) > MOST_OPERATORS:
        return None
    matcher = SequenceMatcher(None, list(a.names), list(b.names), autojunk=False)
    both = [
        (block.a + k, block.b + k)
        for block in matcher.get_matching_blocks()
        for k in range(block.size)
    ]
    if not both:
        return None
    until, beside, own = [], [], []
    last = -1
    for i, j in both:
        until += [a.begin[i], a.end[i]]
        beside += [b.begin[j], b.end[j]]
        own += [i > last + 1, False]
        last = i
    until.append(hook[2])
    beside.append(other[2])
    own.append(len(a.names) > last + 1)
    # An operator may end a moment after its hook, by the two clocks.
    ends = np.maximum.accumulate(np.array([hook[1], *until]).clip(hook[1], hook[2]))
    length = np.diff(ends)
    fixed_ends = np.array([other[1], *beside]).clip(other[1], other[2])
    longer = np.maximum(length - np.diff(np.maximum.accumulate(fixed_ends)), 0)
    taken = np.zeros(len(length))
    alien = np.array(own)
    for could in (longer * alien, longer * ~alien, length):
        left = saving - taken.sum()
        could = np.minimum(could, length - taken)
        if left > 0 and could.sum() > 0:
            taken += could * min(1.0, left / could.sum())
    rest = np.round(length - taken).astype(int)
    return list(zip(ends[1:].tolist(), rest.tolist(), strict=True))
