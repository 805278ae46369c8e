# SPDX-License-Identifier: BSD-3-Clause
"""faults/variant.py: a faulty file, what is true of it, and how its load must end.

A variant is built over a base trace whose facts are known without our loader. Every
load ends in one of three ways: loaded, loaded with counted warnings, or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

ANY = None  # A count that is not known beforehand, but not 0.


@dataclass(frozen=True)
class Facts:
    """What ``torchtraceap inspect --json`` must count; times in nanoseconds."""

    events: int = 0
    x: int = 0
    sum_dur_ns: int = 0
    min_ts_ns: int | None = None
    gpu: int = 0
    flow_s: int = 0
    flow_f: int = 0

    def __add__(self, other: Facts) -> Facts:
        starts = [t for t in (self.min_ts_ns, other.min_ts_ns) if t is not None]
        return Facts(
            self.events + other.events,
            self.x + other.x,
            self.sum_dur_ns + other.sum_dur_ns,
            min(starts, default=None),
            self.gpu + other.gpu,
            self.flow_s + other.flow_s,
            self.flow_f + other.flow_f,
        )


@dataclass(frozen=True)
class Base:
    """A sound trace in pieces: head up to the '[' of its events, tail from the ']'."""

    name: str
    head: str
    events: tuple[str, ...]
    facts_of: tuple[Facts, ...]  # Of each event.
    tail: str

    @cached_property
    def facts(self) -> Facts:
        return sum(self.facts_of, Facts())

    def text(self, events: tuple[str, ...] | None = None) -> str:
        return self.head + ",\n  ".join(events or self.events) + self.tail


@dataclass(frozen=True)
class Made:
    """The bytes of a file, and the facts of what is sound in it (None: not known)."""

    content: bytes
    facts: Facts | None
    names: tuple[str, ...] = ()  # Must be among the names of the trace.


@dataclass(frozen=True)
class Loads:
    """The file loads with exactly these warnings, in counts; empty: without any.

    ``some`` asks for at least one warning of whatever kind, and for no certain one.
    """

    warnings: Mapping[str, int | None] = field(default_factory=dict)
    some: bool = False


@dataclass(frozen=True)
class Refused:
    """The file is refused with this kind, in words that hold ``says``."""

    kind: str
    says: str = ""


Outcome = Loads | Refused
Make = Callable[[Base], Made]


@dataclass(frozen=True)
class Variant:
    """A row of the catalogue: the fault's number, a name, the file, how loads end."""

    fault: str
    name: str
    make: Make
    expected: Outcome = Loads()
    recovered: Outcome | None = None  # With recover=True. None: the same.
    options: Mapping[str, Any] = field(default_factory=dict)  # Of load.

    def outcome(self, recover: bool) -> Outcome:
        return self.recovered if recover and self.recovered else self.expected


LOADS = Loads()
SOME_WARNING = Loads(some=True)


def warns(**kinds: int | None) -> Loads:
    return Loads(kinds)


ONE_LOST = warns(damaged_event=1)
METADATA_LOST = warns(damaged_metadata=1)


def alike(fault: str, *ends: Outcome, **options: Any) -> Callable[..., list[Variant]]:
    """Return what makes the rows of files that end alike, by name with _ for blanks."""

    def rows(**files: Make) -> list[Variant]:
        return [
            Variant(fault, name.replace("_", " "), make, *ends, **options)
            for name, make in files.items()
        ]

    return rows
