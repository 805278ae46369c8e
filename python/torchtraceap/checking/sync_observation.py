# SPDX-License-Identifier: BSD-3-Clause
"""sync_observation.py: what one run showed of waits for the GPU. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from torchtraceap.checking.launch_verdict import Launches
from torchtraceap.dryrun.waits.wait_kinds import head_of, written_together
from torchtraceap.source_lines import Line, display_path


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
