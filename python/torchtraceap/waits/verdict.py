# SPDX-License-Identifier: BSD-3-Clause
"""verdict.py: what a run showed of waits and launches, whether that is allowed, and the
words for it. Needs no torch, no pytest."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from torchtraceap.base.arguments import checked_int
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line, display_path
from torchtraceap.base.units import counted, time_text
from torchtraceap.waits.wait import Wait, by_place, explain

#: A shorter wait, in µs, costs no more than a few launches.
OVER_US = 50.0
_MOST_PLACES = 8  # Of launches.


class SyncStalls(AssertionError):
    """The code waits for the GPU, or this is undetermined; the text says where."""


@dataclass(frozen=True)
class Launches:
    """How many kernels each step launched, as far as one run shows."""

    steps: tuple[int, ...] = ()
    #: Of the step that launched most, where that is known: its lines, most first.
    places: tuple[tuple[str, int], ...] = ()
    first: int = 0  #: The number of the first of `steps`.
    #: Why the launches are unknown; "" if they are known.
    problem: str = (
        "a run on the CPU does not show how many kernels a GPU would be given"
    )


@dataclass(frozen=True)
class Observation:
    """What one run showed, what it could show, and what it could not."""

    waits: tuple[Wait, ...]  # Where times are known, each is one wait.
    scope: str
    problem: str = ""  # Why there is no result at all; "" if there is one.
    mode: str = ""  # How it was made, in a few words.
    #: Calls of step(), and one more if something was seen after the last.
    steps: int = 1
    launches: Launches = field(default_factory=Launches)


@dataclass(frozen=True)
class Verdict:
    """Whether an observation keeps to what is tolerated, and the words for it."""

    waits: tuple[Wait, ...]  # By place, longest first; none allowed or too short.
    left_out: int  # How many waits are allowed or too short.
    max_count: int | None
    observation: Observation
    max_per_step: int | None = None
    worst: tuple[int, int] = (0, 0)  # The step with most waits, and how many.

    @property
    def ok(self) -> bool:
        """Whether the code is known to keep to it."""
        most = self.count if self.max_count is None else self.max_count
        each = self.worst[1] if self.max_per_step is None else self.max_per_step
        return self.told and self.count <= most and self.worst[1] <= each

    @property
    def told(self) -> bool:
        """Whether there is a result."""
        return not self.observation.problem

    @property
    def count(self) -> int:
        """How many waits there are."""
        return sum(wait.count for wait in self.waits)

    @property
    def wasted_us(self) -> float | None:
        """How long they blocked the CPU; None: that is not known."""
        times = [wait.us for wait in self.waits if wait.us is not None]
        return sum(times) if times else None

    @cached_property
    def headline(self) -> str:
        """One line: the worst place, first, as pytest's own summary shows no more."""
        if self.observation.problem:
            return " ".join(self.observation.problem.split())
        said = "nothing waits for the GPU"
        if self.waits:
            first, more = self.waits[0], len(self.waits) - 1
            verb = f"and {more} more wait" if more else "waits"
            place = _place(first.line, "no line known")
            said = f"{place}: {printable(first.head)} {verb} for the GPU"
        return f"{said} ({self._limits})"

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
        return tuple(_described(wait, self.observation.steps) for wait in self.waits)

    @cached_property
    def details(self) -> tuple[str, ...]:
        """The places, why each waits and what to do instead, what is tolerated."""
        lines: list[str] = []
        explained: set[str] = set()
        for wait, place in zip(self.waits, self.places, strict=True):
            lines.append(f"  {place}")
            lines += [f"      {line}" for line in explain(wait, explained)]
        if self.left_out:
            lines.append(
                f"  and {self.left_out} that are allowed or shorter than over_us"
            )
        return tuple(lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was and what could not be checked, and how to tolerate a line."""
        lines = [wait.line for wait in self.waits if wait.line is not None]
        example = []
        if lines and not self.ok:
            file = display_path(lines[0].file).rpartition("/")[2]
            allow = f"{file}:{lines[0].line}"
            example = [f"To tolerate a line: allow=[{allow!r}]"]
        return (*self.observation.scope.splitlines(), *example)

    @property
    def message(self) -> str:
        """All of it."""
        return "\n".join([self.headline, *self.details, *self.notes])


def decide(
    observation: Observation,
    *,
    over_us: float = OVER_US,
    max_count: int | None = None,
    max_per_step: int | None = None,
    allow: Sequence[str] = (),
) -> Verdict:
    """Judge an observation by a budget; the options are those of `SyncCheck`."""
    if max_count is None and max_per_step is None:
        max_count = 0
    if observation.problem:
        return Verdict((), 0, max_count, observation, max_per_step)
    against = [
        wait
        for wait in observation.waits
        if not _too_short(wait, over_us) and not _is_allowed(wait, allow)
    ]
    in_step: Counter[int] = Counter()
    for wait in against:
        in_step.update(wait.in_steps)
    left_out = sum(wait.count for wait in observation.waits) - in_step.total()
    worst = max(in_step.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    places = sorted(by_place(against), key=lambda wait: (-(wait.us or 0), -wait.count))
    return Verdict(tuple(places), left_out, max_count, observation, max_per_step, worst)


def _too_short(wait: Wait, over_us: float) -> bool:
    return wait.us is not None and wait.us < over_us


def _is_allowed(wait: Wait, allow: Sequence[str]) -> bool:
    """Tell whether a pattern names what waits, or where."""
    names = [*wait.names]
    for line in (wait.line, wait.inner):
        if line is not None:
            file = line.file
            for path in (file, display_path(file), file.rpartition("/")[2]):
                names += [path, f"{path}:{line.line}"]
    return any(
        name and fnmatchcase(name, pattern) for name in names for pattern in allow
    )


def _described(wait: Wait, steps: int) -> str:
    """Return one place in one line; ``steps`` is how many there are."""
    place = _place(wait.line, "(no Python line was recorded)")
    cost = "" if wait.us is None else f", {time_text(wait.us)} blocked"
    head = f"  {printable(wait.head)}" if wait.api else ""
    guessed = " (value guessed)" if wait.guessed else ""
    return f"{place}{head}  {_often(wait, steps)}{cost}{guessed}"


def _often(wait: Wait, steps: int) -> str:
    if steps == 1:
        return f"×{wait.count}"
    if wait.steps == steps and wait.count % steps == 0:
        return f"×{wait.count // steps} per step"
    return f"×{wait.count} in {wait.steps} of {steps} steps"


def _place(line: Line | None, otherwise: str) -> str:
    return printable(str(line)) if line else otherwise


@dataclass(frozen=True)
class LaunchVerdict:
    """Whether no step launches more than a limit, and the words for it."""

    launches: Launches
    max_per_step: int

    @property
    def told(self) -> bool:
        """Whether there is a result."""
        return not self.launches.problem

    @property
    def ok(self) -> bool:
        """Whether the launches are known and within the limit."""
        return self.told and max(self.launches.steps, default=0) <= self.max_per_step

    @property
    def headline(self) -> str:
        """One line: the step that launches most."""
        if not self.told:
            return f"launches are unknown: {self.launches.problem}"
        steps = self.launches.steps or (0,)
        at = self.launches.first + steps.index(max(steps))
        limit = f"max_per_step = {self.max_per_step:,}"
        return f"step {at} launched {counted(max(steps), 'kernel')}, {limit}"

    @property
    def details(self) -> tuple[str, ...]:
        """Where that step launches them, and what the others launch."""
        if not self.told or self.ok:
            return ()
        places = self.launches.places
        lines = [
            f"  {line}  {counted(n, 'kernel')}" for line, n in places[:_MOST_PLACES]
        ]
        if rest := places[_MOST_PLACES:]:
            number = counted(sum(n for _, n in rest), "kernel")
            lines.append(f"  {len(rest)} more lines  {number}")
        if len(self.launches.steps) > 1:
            each = ", ".join(f"{n:,}" for n in self.launches.steps)
            lines.append(f"  kernels of each step: {each}")
        return tuple(lines)

    @property
    def message(self) -> str:
        """All of it."""
        return "\n".join([self.headline, *self.details])


def checked_limit(name: str, value: int | None) -> int | None:
    """Return a limit on a number of waits; None is none."""
    return None if value is None else checked_int(name, value, 0, sys.maxsize)
