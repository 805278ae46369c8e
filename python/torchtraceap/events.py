# SPDX-License-Identifier: BSD-3-Clause
"""events.py: single events of the trace, as a report points to them."""

from __future__ import annotations

from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.identity import process
from torchtraceap.units import us_from_ns


@dataclass(frozen=True)
class Event:
    """An event of the trace that takes time. Times are on the trace's clock."""

    index: int  #: Row in ``Trace.columns``.
    name: str
    start_us: float
    duration_us: float


@dataclass(frozen=True)
class Unexplained:
    """A long stretch of idle time that no pattern accounts for."""

    device: int | None  #: None: of a process in a trace without device work.
    start_us: float
    end_us: float
    during: Event | None  #: What the host was in for most of it; None: unrecorded.
    pid: int | str | None = None  #: The process, or the one that feeds the device.

    @property
    def duration_us(self) -> float:
        """Length of the stretch."""
        return self.end_us - self.start_us


def read_events(trace: _core.Trace, rows: list[int]) -> tuple[Event, ...]:
    """Read rows of a trace. All must have a start and a duration."""
    columns = trace.columns
    starts, durations = columns["ts"], columns["dur"]
    return tuple(
        Event(
            index=row,
            name=trace.name(row),
            start_us=us_from_ns(int(starts[row])),
            duration_us=us_from_ns(int(durations[row])),
        )
        for row in rows
    )


def read_unexplained(core: _core.Unexplained, trace: _core.Trace) -> Unexplained:
    """Convert one stretch."""
    during = [] if core.during is None else [core.during]
    return Unexplained(
        device=None if core.device == _core.NO_ID else core.device,
        start_us=us_from_ns(core.begin_ns),
        end_us=us_from_ns(core.end_ns),
        during=next(iter(read_events(trace, during)), None),
        pid=process(trace, core.pid),
    )
