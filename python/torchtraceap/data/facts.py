# SPDX-License-Identifier: BSD-3-Clause
"""facts.py: what a report says of the trace as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torchtraceap import _core
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.from_core import from_core


@dataclass(frozen=True)
class Device:
    """A device that the trace lists or that worked in it."""

    id: int
    name: str  #: "" if the trace does not tell.
    events: int  #: Kernels, copies and memsets recorded on it.


@dataclass(frozen=True)
class Simulated:
    """What a trace rests on that a dry run simulated: no time in it was measured."""

    gpu: str  #: Whose kernels were estimated; "" if the trace does not tell.
    host_us_per_op: float | None  #: What an operator was taken to cost the host.


@dataclass(frozen=True)
class TraceFacts:
    """What the trace is. Times are on its own clock."""

    path: str  #: As given; "<bytes>" of a trace from memory, "<dry run>" of a dry run.
    events: int
    start_us: float
    end_us: float
    devices: tuple[Device, ...]
    rank: int | None
    world_size: int | None
    #: Of a trace without device work: how many processes worked, each with a balance.
    processes: int = 0
    #: None: a profiler recorded the trace.
    simulated: Simulated | None = None

    @property
    def span_us(self) -> float:
        """Length of the analysed time, device work or not."""
        return self.end_us - self.start_us

    @property
    def device_time_us(self) -> float:
        """The span once for each working device, or for each process of a trace
        without: what findings are a share of."""
        return self.span_us * max(1, len(self.working_devices), self.processes)

    @property
    def working_devices(self) -> tuple[Device, ...]:
        """The devices with work in the trace; none for a CPU-only one."""
        return tuple(d for d in self.devices if d.events)


@dataclass(frozen=True)
class Note:
    """Something about the trace that a reader of the figures should know."""

    kind: str  #: Stable word, such as "launches_without_work"; see docs/reading.md.
    count: int
    detail: str
    verdict: str = "ok"  #: What this alone makes of the trace.


@dataclass(frozen=True)
class Quality:
    """How far the trace can be trusted."""

    verdict: str  #: "ok", "degraded" or "unusable": the worst of the warnings.
    warnings: tuple[Note, ...]
    #: Device work is missing: busy time is understated, idle time overstated.
    incomplete: bool = False
    #: Of the device events with an id, those whose launch is in the trace, 0 to 1.
    linking_rate: float | None = None

    @property
    def reasons(self) -> tuple[Note, ...]:
        """The warnings that make the verdict worse than "ok"."""
        return tuple(note for note in self.warnings if note.verdict != "ok")


class ByPattern(dict[str, float]):
    """Microseconds by pattern; ``[name]`` of one that is not listed is 0.

    A step lists only the patterns that have time in it: there may be thousands of them.
    """

    def __missing__(self, name: str) -> float:
        return 0.0


@dataclass(frozen=True)
class Balance:
    """Where time went: span = busy + idle by pattern + unattributed.

    Of one device; of a step, of all devices that its process feeds, whose times are
    added up. Without device work it is the time of one process, of which patterns take
    theirs and ``busy_us`` is what is left inside operators.
    """

    device: int | None  #: None: no device worked, or several did in the step.
    span_us: float  #: Of a step: its length, once for each device.
    busy_us: float
    idle_us: ByPattern  #: Of a device: each pattern of the core's table.
    unattributed_us: float  #: Idle time that no pattern explains.
    excess_us: ByPattern  #: Part of `busy_us` that a pattern wastes.
    devices: int = 1  #: How many it is of; 0 without device work.
    #: Of a device, part of `unattributed_us`: gaps under 3 µs between kernels that were
    #: queued, its own way from one to the next. 0 of a step.
    delay_us: float = 0.0
    #: The process whose time it is, or that feeds the device; None: unknown.
    pid: int | str | None = None
    #: What the core knows the device by: in a file of several ranks, where several may
    #: have one number, each has its own.
    _key: int = field(default=-1, repr=False, compare=False)

    @property
    def busy_fraction(self) -> float:
        """Share of the span in which the device (or any operator) worked, 0 to 1."""
        return self.busy_us / self.span_us if self.span_us else 0.0


@dataclass(frozen=True)
class Step:
    """One ``ProfilerStep#N``."""

    number: int
    start_us: float
    end_us: float
    busy_us: float  #: Of its process's devices together.
    #: None: the trace is unusable, or the step's process feeds no device.
    balance: Balance | None = None
    pid: int | str | None = None  #: The process whose step it is.


@dataclass(frozen=True)
class Stage:
    """One question, answered in figures. pipeline/story/story.h lists all."""

    id: str  #: busy, idle, limit, work, overlap, gain.
    question: str
    answer: str  #: Sentences; names in them are from the trace.
    #: The answer in one stable word, such as "host" or a pattern; "" if it has none.
    verdict: str
    known: bool  #: False: the trace does not allow an answer; `answer` says why.
    severity: str | None  #: "low", "medium", "high", as of a finding; None: no cost.
    figures: dict[str, float | int]  #: Times end in ``_us``; the rest are counts.


@dataclass(frozen=True)
class RuleOutcome:
    """What a user's own rule claimed, and what it got of that."""

    rule: str
    claims: int
    asked_us: float  #: Together, whatever the devices did meanwhile.
    claimed_us: float  #: Idle or busy time in them that was still to be had.
    taken_us: float  #: More that it would have had but for rules before it.
    counted: bool  #: False: too little, so it is in no finding and no balance.


def read_facts(core: _core.TraceFacts) -> TraceFacts:
    """Convert the core's facts."""
    assumed = core.simulated
    return from_core(
        TraceFacts,
        core,
        path="<dry run>" if assumed and core.path == "<bytes>" else core.path,
        devices=tuple(from_core(Device, device) for device in core.devices),
        simulated=from_core(Simulated, assumed) if assumed else None,
    )


def read_quality(core: _core.Quality) -> Quality:
    """Convert the core's verdict."""
    warnings = tuple(from_core(Note, note) for note in core.warnings)
    return from_core(Quality, core, warnings=warnings)


def read_balance(
    core: _core.BalanceRow | _core.StepBalance,
    pid: int | str | None,
    names: Sequence[str] = (),
) -> Balance:
    """Convert one row of the core's balance; of ``names``, those without time get 0."""
    zeros = dict.fromkeys(names, 0.0)
    idle_us, excess_us = (
        ByPattern(zeros | {name: us_from_ns(time) for name, time in by_pattern.items()})
        for by_pattern in (core.idle_ns, core.excess_ns)
    )
    # The balance of a step is of all devices, and says nothing of delays.
    of_step = isinstance(core, _core.StepBalance)
    without: dict[str, Any] = {"delay_us": 0.0, "_key": -1} if of_step else {}
    return from_core(
        Balance, core, pid=pid, idle_us=idle_us, excess_us=excess_us, **without
    )


def read_stage(core: _core.Stage) -> Stage:
    """Convert one of the core's stages."""
    figures = {
        f"{figure.name}_us" if figure.is_time else figure.name: (
            us_from_ns(figure.value) if figure.is_time else figure.value
        )
        for figure in core.figures
    }
    return from_core(Stage, core, figures=figures)
