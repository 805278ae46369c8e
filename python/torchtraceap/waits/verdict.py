# SPDX-License-Identifier: BSD-3-Clause
"""verdict.py: what was seen of waits, and whether that is allowed."""

from __future__ import annotations

import linecache
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property

from torchtraceap.base.arguments import checked_int
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line, display_path
from torchtraceap.waits.launches import Launches
from torchtraceap.waits.table import head_of, written_together


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
    step: int = 0  # How many calls of step() came before.
    guessed: bool = False  # A value was read that had to be guessed.
    inner: Line | None = None  # The library's line that waits, where it is not `line`.
    module: str = ""  # That it is in, as far as known.
    written: str = ""  # What of the line waits, as far as known: ".item()".

    @property
    def head(self) -> str:
        """What waits, for people."""
        return head_of(self.operator, self.written)


@dataclass(frozen=True)
class Place(Stall):
    """All waits of one kind at one line."""

    in_steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Observation:
    """What one run showed, what it could show, and what it could not."""

    stalls: tuple[Stall, ...]  # Where times are known, each is one wait.
    scope: str
    problem: str = ""  # Why nothing can be said at all; "" if something can.
    mode: str = ""  # How it was made, in a few words.
    #: Calls of step(), and one more if something was seen after the last.
    steps: int = 1
    launches: Launches = field(default_factory=Launches)
    #: Calls that wait if their tensors are on a GPU, where that is not known.
    untold: tuple[Stall, ...] = ()


def by_place(stalls: Iterable[Stall]) -> list[Place]:
    """Put those of one kind at one line together; longest first."""
    found: dict[Stall, list[Stall]] = {}
    for one in stalls:
        alike = replace(
            one,
            count=0,
            wasted_us=None,
            step=0,
            guessed=False,
            module="",
            written="",
        )
        found.setdefault(alike, []).append(one)
    places = [_together(these) for these in found.values()]
    return sorted(places, key=lambda s: (-(s.wasted_us or 0.0), -s.count))


def _together(stalls: Sequence[Stall]) -> Place:
    times = [one.wasted_us for one in stalls if one.wasted_us is not None]
    return replace(
        Place(**vars(stalls[0])),
        count=sum(one.count for one in stalls),
        wasted_us=sum(times) if times else None,
        guessed=any(one.guessed for one in stalls),
        written=written_together(one.written for one in stalls),
        in_steps=tuple(dict.fromkeys(one.step for one in stalls)),
    )


def is_allowed(stall: Stall, allow: Sequence[str]) -> bool:
    """Tell whether a pattern names what waits, or where."""
    names = [stall.operator, stall.operator.removeprefix("aten::"), *stall.names]
    for line in (stall.line, stall.inner):
        if line is not None:
            file = line.file
            for path in (file, display_path(file), file.rpartition("/")[2]):
                names += [path, f"{path}:{line.line}"]
    return any(
        name and fnmatchcase(name, pattern) for name in names for pattern in allow
    )


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


def describe(stall: Place, steps: int) -> str:
    """Return one place in one line; ``steps`` is how many there are."""
    place = _place(stall.line, "(no Python line was recorded)")
    cost = "" if stall.wasted_us is None else f", {stall.wasted_us:,.0f} µs blocked"
    operator = f"  {printable(stall.head)}" if stall.operator else ""
    guessed = " (value guessed)" if stall.guessed else ""
    return f"{place}{operator}  {_often(stall, steps)}{cost}{guessed}"


def _often(stall: Place, steps: int) -> str:
    if steps == 1:
        return f"×{stall.count}"
    in_steps = len(stall.in_steps)
    if in_steps == steps and stall.count % steps == 0:
        return f"×{stall.count // steps} per step"
    return f"×{stall.count} in {in_steps} of {steps} steps"


def worst(stalls: Sequence[Stall]) -> str:
    """Return the worst place in a few words. It comes first in a failure, as pytest's
    own summary shows nothing else."""
    if not stalls:
        return "nothing waits for the GPU"
    first = stalls[0]
    what = printable(first.head) or "something"
    more = f" and {len(stalls) - 1} more" if len(stalls) > 1 else ""
    verb = "wait" if more else "waits"
    place = _place(first.line, "no line known")
    return f"{place}: {what}{more} {verb} for the GPU"


def example(stalls: Iterable[Stall]) -> Iterator[str]:
    """Yield the line that says how to tolerate the first that has a line."""
    lines = [stall.line for stall in stalls if stall.line is not None]
    for line in lines[:1]:
        file = display_path(line.file).rpartition("/")[2]
        yield f"To tolerate a line: allow=[{f'{file}:{line.line}'!r}]"


def _place(line: Line | None, otherwise: str) -> str:
    return printable(str(line)) if line else otherwise


def untold(line: str, what: str, name: str) -> str:
    """Say why a call that copies to the host, between tensors of the CPU, leaves the
    check without an answer."""
    return (
        f"{line}: it cannot be told: {what}. Between CPU tensors this copies nothing; "
        'on a GPU it waits. Build the model in the test, or take device="dry", so that '
        f'it runs on the dry run\'s GPU; if it is meant for the CPU, allow=["{name}"] '
        'or device="cpu"'
    )


class SyncStalls(AssertionError):
    """The code waits for the GPU, or it could not be told; the text says where."""


def checked_limit(name: str, value: int | None) -> int | None:
    """Return a limit on a number of waits; None is none."""
    return None if value is None else checked_int(name, value, 0, sys.maxsize)
