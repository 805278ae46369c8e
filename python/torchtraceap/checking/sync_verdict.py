# SPDX-License-Identifier: BSD-3-Clause
"""sync_verdict.py: are these waits for the GPU too much? Needs no torch, no pytest."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from torchtraceap.safe_text import printable
from torchtraceap.source_lines import Line, display_path

#: A shorter wait costs no more than a few launches.
OVER_US = 50.0


@dataclass(frozen=True)
class Stall:
    """Waits of one kind at one line, or operators that would wait."""

    line: Line | None
    operator: str  # The deepest around it; the call itself if there is none.
    count: int
    wasted_us: float | None  # How long the CPU was blocked in all. None: not known.
    what: str
    advice: str
    names: tuple[str, ...] = ()  # what else `allow` may call the operator


@dataclass(frozen=True)
class Observation:
    """What one run showed, what it could show, and what it could not."""

    stalls: tuple[Stall, ...]  # Where times are known, each is one wait.
    scope: str
    problem: str = ""  # Why nothing can be said at all; "" if something can.
    mode: str = ""  # How it was made, in a few words.


@dataclass(frozen=True)
class Verdict:
    """Whether an observation keeps to what is tolerated, and the words for it."""

    ok: bool
    stalls: tuple[Stall, ...]  # By place, longest first; none allowed or too short.
    left_out: int  # How many waits are allowed or too short.
    max_count: int
    observation: Observation

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
        return f"{_headline(self.stalls)} (max_count={self.max_count})"

    @cached_property
    def places(self) -> tuple[str, ...]:
        """A line for each place."""
        return tuple(_describe(stall) for stall in self.stalls)

    @cached_property
    def details(self) -> tuple[str, ...]:
        """The places, why each waits and what to do instead, what is tolerated."""
        return tuple(self._details())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was and what could not be checked."""
        return tuple(self.observation.scope.splitlines())

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
    max_count: int = 0,
    allow: Sequence[str] = (),
) -> Verdict:
    """Judges an observation by a budget. See sync_check.py for the options."""
    if observation.problem:
        return Verdict(False, (), 0, max_count, observation)
    counted = _by_place(
        stall
        for stall in observation.stalls
        if not _too_short(stall, over_us) and not _allowed(stall, allow)
    )
    total = sum(stall.count for stall in counted)
    left_out = sum(stall.count for stall in observation.stalls) - total
    return Verdict(total <= max_count, tuple(counted), left_out, max_count, observation)


def _by_place(stalls: Iterable[Stall]) -> list[Stall]:
    places: dict[Stall, Stall] = {}
    for stall in stalls:
        place = replace(stall, count=0, wasted_us=None)
        count, time = stall.count, stall.wasted_us
        if (known := places.get(place)) is not None:
            count += known.count
            time = None if time is None else time + (known.wasted_us or 0.0)
        places[place] = replace(place, count=count, wasted_us=time)
    return sorted(places.values(), key=lambda s: (-(s.wasted_us or 0.0), -s.count))


def _too_short(stall: Stall, over_us: float) -> bool:
    return stall.wasted_us is not None and stall.wasted_us < over_us


def _allowed(stall: Stall, allow: Sequence[str]) -> bool:
    names = [stall.operator, stall.operator.removeprefix("aten::"), *stall.names]
    if stall.line is not None:
        file = stall.line.file
        for path in (file, display_path(file), file.rpartition("/")[2]):
            names += [path, f"{path}:{stall.line.line}"]
    return any(
        name and fnmatchcase(name, pattern) for name in names for pattern in allow
    )


def _describe(stall: Stall) -> str:
    place = _place(stall.line, "(no Python line was recorded)")
    cost = "" if stall.wasted_us is None else f", {stall.wasted_us:,.0f} µs blocked"
    operator = f"  {printable(stall.operator)}" if stall.operator else ""
    return f"{place}{operator}  ×{stall.count}{cost}"


def _headline(stalls: Sequence[Stall]) -> str:
    """Comes first, as pytest's own summary shows nothing else."""
    if not stalls:
        return "nothing waits for the GPU"
    first = stalls[0]
    what = printable(first.operator) or "something"
    more = f" and {len(stalls) - 1} more" if len(stalls) > 1 else ""
    verb = "wait" if more else "waits"
    place = _place(first.line, "no line known")
    return f"{place}: {what}{more} {verb} for the GPU"


def _place(line: Line | None, otherwise: str) -> str:
    return printable(str(line)) if line else otherwise
