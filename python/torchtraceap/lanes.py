# SPDX-License-Identifier: BSD-3-Clause
"""lanes.py: threads and streams as so many slices as a page can draw.

``cpp/pipeline/lane_view.h`` tells what is merged, and what never is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.arguments import checked_int
from torchtraceap.identity import identity, process
from torchtraceap.units import us_from_ns

_MOST_NS = 1 << 61  # No time of an event lies beyond it, see trace/columns.h.


@dataclass(frozen=True, slots=True)
class Slice:
    """An event of a lane, or several that lie close to one another, merged."""

    start_us: float
    duration_us: float  # To the end of the last event.
    name: str  # "" if several events are merged.
    category: str  # Of several, the one with most of the time.
    index: int | None  # Row in ``Trace.columns``; None if several are merged.
    count: int  # Events in it.
    busy_us: float  # Union of their time.
    # Nesting on a thread, 0 for the outermost; on a stream the row into which kernels
    # that overlap are put.
    depth: int


@dataclass(frozen=True)
class LaneView:
    """A thread or a stream with its slices, by depth, then start."""

    kind: str  # "thread" or "stream".
    process: int | str | None  # Of a stream, as in the file: often the device's number.
    number: int | str  # The thread's id, or the stream's.
    device: int | None  # None for a thread.
    name: str  # "thread 1234 (python)", "stream 7".
    slices: tuple[Slice, ...]
    events: int  # In the time that was asked for; slices' counts and `hidden` together.
    # Events that are in no slice: frames that libraries call inside, and what is nested
    # too deep to draw. A slice of the same lane covers each of them.
    hidden: int
    busy_us: float  # Union of all events' time.


class LaneViews(tuple[LaneView, ...]):
    """The lanes that are drawn: threads, then streams."""

    left_out: int  # Lanes with events for which there was no room.
    # Events that begin within this time may be merged; 0: none are.
    resolution_us: float

    def __new__(
        cls, lanes: Iterable[LaneView], left_out: int, resolution_us: float
    ) -> LaneViews:
        """Make it of lanes."""
        views = super().__new__(cls, lanes)
        views.left_out = left_out
        views.resolution_us = resolution_us
        return views


def read_lanes(
    core: _core.Report,
    trace: _core.Trace,
    limit: int,
    start_us: float | None,
    end_us: float | None,
) -> LaneViews:
    """Draw lanes; see ``Report.lanes``."""
    limit = checked_int("limit", limit, 1, 2**63 - 1)
    time = None
    if start_us is not None or end_us is not None:
        begin, end = (
            _ns("start_us", start_us, -_MOST_NS),
            _ns("end_us", end_us, _MOST_NS),
        )
        if begin >= end:
            raise ValueError(
                f"end_us must be later than start_us, but they are {end_us} and "
                f"{start_us}"
            )
        time = (begin, end)
    drawn = core.lanes(limit, time)
    return LaneViews(
        (_read_lane(lane, trace) for lane in drawn.lanes),
        drawn.left_out,
        us_from_ns(drawn.cell_ns),
    )


def _ns(name: str, us: float | None, default: int) -> int:
    if us is None:
        return default
    if not math.isfinite(us):
        raise ValueError(f"{name} must be a finite number, but is {us}")
    return max(-_MOST_NS, min(_MOST_NS, round(us * 1000)))


def _read_lane(lane: _core.DrawnLane, trace: _core.Trace) -> LaneView:
    categories = _core.category_names()
    slices = tuple(
        Slice(
            us_from_ns(begin),
            us_from_ns(end - begin),
            "" if row is None else trace.name(row),
            categories[category],
            row,
            count,
            us_from_ns(busy_ns),
            depth,
        )
        for begin, end, row, category, count, busy_ns, depth in lane.slices
    )
    return LaneView(
        kind="stream" if lane.is_stream else "thread",
        process=process(trace, lane.pid),
        number=identity(trace, lane.stream if lane.is_stream else lane.tid),
        device=lane.device if lane.is_stream else None,
        name=lane.name,
        slices=slices,
        events=lane.events,
        hidden=lane.hidden,
        busy_us=us_from_ns(lane.busy_ns),
    )
