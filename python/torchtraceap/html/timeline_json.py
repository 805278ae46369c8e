# SPDX-License-Identifier: BSD-3-Clause
"""timeline_json.py: what the page's script draws, as JSON inside the page.

Times are whole nanoseconds from the start of the analysed time. Slices are columns,
not objects, and names are numbers: a page holds thousands of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from torchtraceap.html.colors import family, slice_color
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.html.window_strip import Lane
    from torchtraceap.lanes import LaneView, LaneViews
    from torchtraceap.report import Report

_MOST_SLICES = 9_000  # Of the whole trace; about 40 bytes each.
_MOST_DETAILS = 20  # Places that can be seen more closely, with so many slices each.
_DETAIL_SLICES = 500
_LEAST_AROUND_US = 1.0  # Of time shown before and after an event of evidence.
_MOST_LANES = 80
_MOST_DEPTH = 24  # Python frames can be hundreds deep.
_MOST_STEPS = 500
_NAME_WIDTH = 80


def timeline_json(report: Report, strip: Sequence[Lane]) -> str:
    """Return the data as JSON that may stand in a ``script`` element."""
    cells = [cell for lane in strip for cell in lane.cells]
    # There may be far more windows than cells, which is what can be seen of them.
    cell_of = {w: i for i, x in enumerate(cells) for w in range(x.first, x.last + 1)}
    start_us = report.trace.start_us
    whole = report.lanes(limit=_MOST_SLICES)
    # Those of the devices first.
    lanes = sorted(whole, key=lambda lane: lane.kind != "stream")[:_MOST_LANES]
    devices = {lane.device for lane in lanes} - {None}
    names = _Numbers()
    data = {
        "span": _ns(report.trace.span_us),
        "lanes": [
            {"label": _label(lane, len(devices) > 1)} | _slices(lane, start_us, names)
            for lane in lanes
        ],
        "left_out": whole.left_out + len(whole) - len(lanes),
        "hidden": sum(map(_hidden, lanes)),
        "details": [
            {
                "begin": _ns(begin_us - start_us),
                "end": _ns(end_us - start_us),
                "lanes": _same_lanes(lanes, detail, start_us, names),
            }
            for begin_us, end_us, detail in _details(report, whole.resolution_us)
        ],
        "names": names.texts,
        "steps": [
            [step.number, _ns(step.start_us - start_us), _ns(step.end_us - start_us)]
            for step in report.steps[:_MOST_STEPS]
        ],
        "cells": [
            [
                _ns(report.windows[cell.first].start_us - start_us),
                _ns(report.windows[cell.last].end_us - start_us),
            ]
            for cell in cells
        ],
        "findings": [_finding(x, start_us, cell_of) for x in report.findings],
    }
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # Neither "</script>" nor "<!--" may stand in a script element, whatever its type.
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


class _Numbers:
    """Texts, each stored once, by their numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Return the number of a text as it is shown."""
        text = printable(text, _NAME_WIDTH)
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def _slices(lane: LaneView, start_us: float, names: _Numbers) -> dict[str, Any]:
    """Return a lane's slices as columns; each start counts from the one before."""
    slices = [s for s in lane.slices if s.depth < _MOST_DEPTH]
    starts = [_ns(s.start_us - start_us) for s in slices]
    return {
        "rows": 1 + max((s.depth for s in slices), default=0),
        "start": [b - a for a, b in zip([0, *starts], starts, strict=False)],
        "length": [_ns(s.duration_us) for s in slices],
        "name": [names.of(s.name) for s in slices],
        "color": [names.of(slice_color(s.category)) for s in slices],
        "row": [s.depth for s in slices],
        "event": [-1 if s.index is None else s.index for s in slices],
        # Of slices that stand for several events: how many, and how busy.
        "merged": {
            i: [s.count, _ns(s.busy_us)]
            for i, s in enumerate(slices)
            if s.index is None
        },
    }


def _details(
    report: Report, resolution_us: float
) -> Iterator[tuple[float, float, LaneViews]]:
    """Yield the surroundings of the costliest evidence where they can be seen better
    than in the whole: the costliest event of each finding, then the second, and so on.
    """
    if not resolution_us:
        return  # Nothing is merged.
    rounds = zip_longest(*(finding.events for finding in report.findings))
    made: list[tuple[float, float]] = []
    for event in (event for row in rounds for event in row if event):
        around_us = max(event.duration_us, _LEAST_AROUND_US)
        begin_us = event.start_us - around_us
        end_us = event.start_us + event.duration_us + around_us
        if any(begin <= begin_us and end_us <= end for begin, end in made):
            continue
        lanes = report.lanes(_DETAIL_SLICES, start_us=begin_us, end_us=end_us)
        if lanes.resolution_us < resolution_us:
            made.append((begin_us, end_us))
            yield begin_us, end_us, lanes
        if len(made) == _MOST_DETAILS:
            return


def _same_lanes(
    lanes: Sequence[LaneView], detail: LaneViews, start_us: float, names: _Numbers
) -> dict[int, dict[str, Any]]:
    """Return the lanes of a detail by their places among those of the whole."""
    places = {_key(lane): i for i, lane in enumerate(lanes)}
    return {
        places[_key(lane)]: _slices(lane, start_us, names)
        for lane in detail
        if _key(lane) in places
    }


def _key(lane: LaneView) -> tuple[object, ...]:
    return (lane.kind, lane.process, lane.number, lane.device)


def _label(lane: LaneView, several: bool) -> str:
    device = f" of device {lane.device}" if several and lane.device is not None else ""
    return printable(lane.name + device, _NAME_WIDTH)


def _hidden(lane: LaneView) -> int:
    """Return how many events are nested too deep to be drawn."""
    return lane.hidden + sum(s.count for s in lane.slices if s.depth >= _MOST_DEPTH)


def _finding(
    finding: Finding, start_us: float, cell_of: Mapping[int, int]
) -> dict[str, Any]:
    return {
        "id": finding.id,
        "kind": printable(finding.kind, _NAME_WIDTH),
        "color": family(finding.pattern),
        "cells": sorted({cell_of[w] for w in finding.windows if w in cell_of}),
        "events": [
            [event.index, _ns(event.start_us - start_us), _ns(event.duration_us)]
            for event in finding.events
        ],
    }


def _ns(us: float) -> int:
    return round(us * 1000)
