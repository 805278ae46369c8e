# SPDX-License-Identifier: BSD-3-Clause
"""replay.py: what fixing findings would gain, and how far that may be believed.

The trace is replayed as a schedule, once as it is and once without each finding; see
docs/replay.md. Where the unchanged replay is not to be believed there are no gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.base.location import Location, read_location
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.from_core import from_core

# Of traces of the host alone, and of those whose host never waits for the device.
UNTESTED = (
    "Nothing in this trace tests the replay: the host hardly ever waits for a device, "
    "so that recorded times are only repeated. Take these gains as rough."
)

# Of traces that began while the device was busy: from this share of the span on.
LEAST_ANCHORED = 0.1


@dataclass(frozen=True)
class Gain:
    """Time that a fix takes off the trace, and what that rests on."""

    #: What is counted on: 3/4 of what goes without the edits that count for nothing,
    #: so 0 where all do, as they do without device work.
    low_us: float
    high_us: float  #: As replayed.
    #: Share of high_us that is waits made shorter, not work taken away: rests on rules.
    #: None of a what-if that was scheduled by events.
    recomputed_share: float | None
    #: Share of the critical path afterwards that hangs on inferred dependencies.
    inferred_share: float | None


@dataclass(frozen=True)
class Recomputed:
    """Waits that the replay works out instead of copying them."""

    count: int
    recorded_us: float
    error_us: float  #: Sum of the differences, call by call.


@dataclass(frozen=True)
class Fidelity:
    """How near the unchanged replay comes to the recording."""

    replayable: bool
    refusals: tuple[str, ...]  #: Why not, in sentences.
    span_us: float
    replayed_span_us: float
    #: Of a replay in which nothing waits: near to span_us, a right span says little.
    null_span_us: float
    informative: bool  #: They are over 2 % of span_us apart.
    long_waits: Recomputed  #: Synchronizations and blocking copies over 100 us.
    queue_waits: Recomputed
    hand_overs: Recomputed
    copied_waits_us: float  #: Long calls without known work to wait for.
    explained_share: float  #: Of launched device work: starts when it can.
    unexplained_us: float  #: By how much the rest starts late.
    #: What the critical path is made of, 0 to 1: copied, recomputed, anchored.
    shares: dict[str, float]
    #: Of the critical path, what passed before work from before the trace had begun.
    anchored_us: float

    @property
    def caveat(self) -> str:
        """A sentence for people where a right span is no evidence, or gains too low."""
        if not self.informative:
            return UNTESTED
        if self.anchored_us < LEAST_ANCHORED * self.span_us:
            return ""
        return (
            f"{self.anchored_us / self.span_us:.0%} of the time hangs on work from "
            "before the trace: what a fix gains there is not known and not counted."
        )


@dataclass(frozen=True)
class PathPlace:
    """A line's part of a critical path: no event counts with more than its length, so
    that what passes between events, or in a queue, is no place's."""

    location: Location | None
    name: str  #: The operator or event where there is no frame.
    us: float


@dataclass(frozen=True)
class CriticalPath:
    """What bounds a step, or the whole trace: chained work without which it would be
    shorter. Its parts add up to span_us."""

    step: int | None  #: None: the whole trace.
    span_us: float
    by_category: dict[str, float]  #: Microseconds, see docs/replay.md.
    places: tuple[PathPlace, ...]  #: Ten at most, the longest first.


@dataclass(frozen=True)
class Recovery:
    """The replay of a report's trace."""

    fidelity: Fidelity | None  #: None: there is no schedule, `refusal` says why.
    refusal: str  #: "" if the trace is replayable.
    gains: tuple[Gain | None, ...]  #: Of each finding, in their order.
    #: Of each finding: why it has no gain in a replayable trace; or "".
    doubts: tuple[str, ...]
    #: All findings fixed at once. Not their sum: one may hide another.
    together: Gain | None
    together_doubt: str  #: Why that is not said although findings have gains; or "".
    windows: tuple[float, ...]  #: Share of each window that goes then; or empty.


def read_recovery(core: _core.Replay, findings: Sequence[_core.Finding]) -> Recovery:
    """Convert what the core says of a replay and of each finding."""
    return Recovery(
        fidelity=read_fidelity(core.fidelity) if core.fidelity else None,
        refusal=core.refusal,
        gains=tuple(from_core(Gain, f.gain) if f.gain else None for f in findings),
        doubts=tuple(finding.doubt for finding in findings),
        together=from_core(Gain, core.together) if core.together else None,
        together_doubt=core.together_doubt,
        windows=tuple(core.windows),
    )


def read_fidelity(core: _core.Fidelity) -> Fidelity:
    """Convert a judgment."""
    return from_core(
        Fidelity,
        core,
        refusals=tuple(refusal.detail for refusal in core.refusals),
        span_us=us_from_ns(core.span.recorded),
        replayed_span_us=us_from_ns(core.span.replayed),
        long_waits=from_core(Recomputed, core.long_waits),
        queue_waits=from_core(Recomputed, core.queue_waits),
        hand_overs=from_core(Recomputed, core.hand_overs),
    )


def read_path(core: _core.PathRow) -> CriticalPath:
    """Convert a critical path."""
    return from_core(
        CriticalPath,
        core,
        by_category={name: us_from_ns(ns) for name, ns in core.by_category.items()},
        places=tuple(
            PathPlace(read_location(place.location), place.name, us_from_ns(place.ns))
            for place in core.places
        ),
    )
