# SPDX-License-Identifier: BSD-3-Clause
"""sync_verdict.py: are these waits for the GPU too much? Needs no torch, no pytest."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from torchtraceap.checking.sync_observation import (
    Observation,
    Place,
    Stall,
    by_place,
    is_allowed,
)
from torchtraceap.checking.sync_text import describe, example, untold, worst
from torchtraceap.safe_text import printable

#: A shorter wait costs no more than a few launches.
OVER_US = 50.0


@dataclass(frozen=True)
class Verdict:
    """Whether an observation keeps to what is tolerated, and the words for it."""

    stalls: tuple[Place, ...]  # Longest first; none allowed or too short.
    left_out: int  # How many waits are allowed or too short.
    max_count: int | None
    observation: Observation
    max_per_step: int | None = None
    worst: tuple[int, int] = (0, 0)  # The step with most waits, and how many.

    @property
    def ok(self) -> bool:
        """Whether the code keeps to it, as far as can be told."""
        most = self.count if self.max_count is None else self.max_count
        each = self.worst[1] if self.max_per_step is None else self.max_per_step
        return self.told and self.count <= most and self.worst[1] <= each

    @property
    def told(self) -> bool:
        """Whether anything can be said."""
        return not self.observation.problem

    @property
    def count(self) -> int:
        """How many waits there are."""
        return sum(stall.count for stall in self.stalls)

    @property
    def wasted_us(self) -> float | None:
        """How long they blocked the CPU; None: that is not known."""
        times = [s.wasted_us for s in self.stalls if s.wasted_us is not None]
        return sum(times) if times else None

    @cached_property
    def headline(self) -> str:
        """One line: the worst place."""
        if self.observation.problem:
            return " ".join(self.observation.problem.split())
        return f"{worst(self.stalls)} ({self._limits})"

    @property
    def _limits(self) -> str:
        limits = [] if self.max_count is None else [f"max_count={self.max_count}"]
        if self.max_per_step is not None:
            step, waits = self.worst
            limits.append(f"max_per_step={self.max_per_step}")
            if waits > self.max_per_step and self.observation.steps > 1:
                limits.append(f"step {step} has {waits}")
        return ", ".join(limits)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """A line for each place."""
        return tuple(describe(one, self.observation.steps) for one in self.stalls)

    @cached_property
    def details(self) -> tuple[str, ...]:
        """The places, why each waits and what to do instead, what is tolerated."""
        return tuple(self._details())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was and what could not be checked, and how to tolerate a line."""
        example_of_allow = () if self.ok else example(self.stalls)
        return (*self.observation.scope.splitlines(), *example_of_allow)

    @property
    def message(self) -> str:
        """All of it."""
        return "\n".join([self.headline, *self.details, *self.notes])

    def _details(self) -> Iterator[str]:
        explained: set[str] = set()
        for stall, place in zip(self.stalls, self.places, strict=True):
            yield f"  {place}"
            if stall.line is not None and stall.line.exact:
                code = linecache.getline(stall.line.file, stall.line.line).strip()
                yield from [f"    > {printable(code)}"] if code else []
            if stall.inner is not None:
                module = f", module {printable(stall.module)}" if stall.module else ""
                inner = str(stall.inner).rpartition("site-packages/")[2]
                yield f"      in {printable(inner)}{module}"
            if stall.what not in explained:
                explained.add(stall.what)
                yield f"      {stall.what}"
                yield f"      instead: {stall.advice}"
        if self.left_out:
            yield f"  and {self.left_out} that are allowed or shorter than over_us"


def decide(
    observation: Observation,
    *,
    over_us: float = OVER_US,
    max_count: int | None = None,
    max_per_step: int | None = None,
    allow: Sequence[str] = (),
) -> Verdict:
    """Judges an observation by a budget. See sync_check.py for the options."""
    if observation.untold:
        left = tuple(one for one in observation.untold if not is_allowed(one, allow))

        def judged(stalls: tuple[Stall, ...], problem: str = "") -> Verdict:
            return decide(
                replace(observation, stalls=stalls, problem=problem, untold=()),
                over_us=over_us,
                max_count=max_count,
                max_per_step=max_per_step,
                allow=allow,
            )

        verdict = judged(observation.stalls, observation.problem)
        if not verdict.ok or judged(observation.stalls + left).ok:
            return verdict  # It does not hang on them.
        first = left[0]
        return judged((), untold(str(first.line), first.what, first.names[0]))
    if max_count is None and max_per_step is None:
        max_count = 0
    if observation.problem:
        return Verdict((), 0, max_count, observation, max_per_step)
    counted = [
        stall
        for stall in observation.stalls
        if not _too_short(stall, over_us) and not is_allowed(stall, allow)
    ]
    in_step: Counter[int] = Counter()
    for stall in counted:
        in_step[stall.step] += stall.count
    left_out = sum(stall.count for stall in observation.stalls) - in_step.total()
    worst = max(in_step.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    places = tuple(by_place(counted))
    return Verdict(places, left_out, max_count, observation, max_per_step, worst)


def _too_short(stall: Stall, over_us: float) -> bool:
    return stall.wasted_us is not None and stall.wasted_us < over_us
