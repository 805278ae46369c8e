# SPDX-License-Identifier: BSD-3-Clause
"""timeline_json.py: the data that the page's script draws, as JSON inside the page.

Times are whole nanoseconds from the start of the analyzed time, taken from the core:
microseconds of today's clocks are too large for a float to be exact. Slices are
columns, not objects, and names are numbers: a page holds thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.base.safe_text import printable
from torchtraceap.report_data import ReportData
from torchtraceap.views.html.colors import family, slice_color
from torchtraceap.views.html.document import Names, differences, script_json
from torchtraceap.views.html.window_strip import Lane

_MOST_SLICES = 9_000  # Of the whole trace; about 40 bytes each.
_MOST_DETAILS = 20  # Places to zoom into, with at most _DETAIL_SLICES slices each.
_DETAIL_SLICES = 500
_LEAST_AROUND_NS = 1_000  # Of time shown before and after an event of evidence.
_MOST_STEPS = 500
_NAME_WIDTH = 80


def timeline_json(report: ReportData, strip: Sequence[Lane]) -> str:
    """Return the data as JSON that may stand in a ``script`` element."""
    core, writer = report.core, _Writer(report)
    origin = writer.origin
    cells = [cell for lane in strip for cell in lane.cells]
    # There may be far more windows than cells, which is what can be seen of them; and
    # two rows of cells, of rules and of the model.
    cells_of: dict[int, list[int]] = {}
    for number, cell in enumerate(cells):
        for window in range(cell.first, cell.last + 1):
            cells_of.setdefault(window, []).append(number)
    windows = core.windows
    whole = core.lanes(_MOST_SLICES)
    # Those of the devices first.
    lanes = sorted(whole.lanes, key=lambda lane: not lane.is_stream)
    # In a file of several ranks, they may differ by the pid alone.
    devices = {(lane.pid, lane.device) for lane in lanes if lane.is_stream}
    data = {
        "span": core.trace.end_ns - origin,
        "lanes": [
            {"label": _label(lane, len(devices) > 1, report)} | writer.slices(lane)
            for lane in lanes
        ],
        "left_out": whole.left_out,
        "hidden": sum(lane.hidden for lane in lanes),
        "details": [
            {
                "begin": begin - origin,
                "end": end - origin,
                "lanes": _same_lanes(lanes, detail, writer),
            }
            for begin, end, detail in _details(report, writer, whole.cell_ns)
        ],
        "names": writer.names.texts,
        "steps": [
            [step.number, step.start_ns - origin, step.end_ns - origin]
            for step in core.steps(_MOST_STEPS)
        ],
        "cells": [
            [
                windows[cell.first].start_ns - origin,
                windows[cell.last].end_ns - origin,
            ]
            for cell in cells
        ],
        "findings": [_finding(x, writer, cells_of) for x in report.findings],
    }
    return script_json(data)


class _Writer:
    """Writes events and slices: times from the origin, texts by their numbers."""

    def __init__(self, report: ReportData) -> None:
        columns = report.loaded.columns
        self._starts, self._durations = columns["ts"], columns["dur"]
        self._trace = report.loaded
        self.origin = report.core.trace.start_ns
        self.names = Names(_NAME_WIDTH)
        self._categories = _core.category_names()

    def time_of(self, row: int) -> tuple[int, int]:
        """Return an event's start, on the trace's clock, and its duration."""
        return int(self._starts[row]), int(self._durations[row])

    def slices(self, lane: _core.DrawnLane) -> dict[str, Any]:
        """Return a lane's slices as columns; each start counts from the one before."""
        slices = lane.slices
        starts = [begin - self.origin for begin, *_ in slices]
        return {
            "rows": 1 + max((depth for *_, depth in slices), default=0),
            "start": differences(starts),
            "length": [end - begin for begin, end, *_ in slices],
            "name": [
                self.names.number("" if row is None else self._trace.name(row))
                for _, _, row, *_ in slices
            ],
            "color": [
                self.names.number(slice_color(self._categories[category]))
                for _, _, _, category, *_ in slices
            ],
            "row": [depth for *_, depth in slices],
            "event": [-1 if row is None else row for _, _, row, *_ in slices],
            # For slices that merge several events: how many, and how busy.
            "merged": {
                i: [count, busy_ns]
                for i, (_, _, row, _, count, busy_ns, _) in enumerate(slices)
                if row is None
            },
        }


def _details(
    report: ReportData, writer: _Writer, cell_ns: int
) -> Iterator[tuple[int, int, _core.DrawnLanes]]:
    """Yield the surroundings of the costliest evidence where they can be seen better
    than in the whole: the costliest event of each finding, then the second, and so on.
    """
    if not cell_ns:
        return  # Nothing is merged.
    rounds = zip_longest(*(finding.events for finding in report.findings))
    made: list[tuple[int, int]] = []
    for event in (event for row in rounds for event in row if event):
        start, length = writer.time_of(event.index)
        around = max(length, _LEAST_AROUND_NS)
        begin, end = start - around, start + length + around
        if any(first <= begin and end <= last for first, last in made):
            continue
        lanes = report.core.lanes(_DETAIL_SLICES, (begin, end))
        if lanes.cell_ns < cell_ns:
            made.append((begin, end))
            yield begin, end, lanes
        if len(made) == _MOST_DETAILS:
            return


def _same_lanes(
    lanes: Sequence[_core.DrawnLane], detail: _core.DrawnLanes, writer: _Writer
) -> dict[int, dict[str, Any]]:
    """Return the lanes of a detail by their places among those of the whole."""
    places = {_key(lane): i for i, lane in enumerate(lanes)}
    return {
        places[_key(lane)]: writer.slices(lane)
        for lane in detail.lanes
        if _key(lane) in places
    }


def _key(lane: _core.DrawnLane) -> tuple[object, ...]:
    if lane.is_stream:
        return (lane.pid, lane.device, lane.stream)
    return (lane.pid, lane.tid)


def _label(lane: _core.DrawnLane, several: bool, report: ReportData) -> str:
    device = f" of device {lane.device}" if several and lane.is_stream else ""
    if lane.device in report.numbers_alike:
        device += f" ({report.loaded.identity(lane.pid)})"
    return printable(lane.name + device, _NAME_WIDTH)


def _finding(
    finding: Finding, writer: _Writer, cells_of: Mapping[int, Sequence[int]]
) -> dict[str, Any]:
    times = [(event.index, *writer.time_of(event.index)) for event in finding.events]
    return {
        "id": finding.id,
        "kind": printable(finding.kind, _NAME_WIDTH),
        "color": family(finding.pattern),
        "cells": sorted({i for w in finding.windows for i in cells_of.get(w, ())}),
        "events": [
            [row, start - writer.origin, length] for row, start, length in times
        ],
    }
