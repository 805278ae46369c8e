# SPDX-License-Identifier: BSD-3-Clause
"""timeline_json.py: what the page's script draws, as JSON inside the page.

Times are whole nanoseconds from the start of the analysed time. Slices are columns,
not objects, and names are numbers: a page holds thousands of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchtraceap.html.colors import family, slice_color
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.lanes import LaneView
    from torchtraceap.report import Report

MOST_SLICES = 12_000
_MOST_LANES = 80
_MOST_DEPTH = 24  # Python frames can be hundreds deep.
_MOST_STEPS = 500
_NAME_WIDTH = 80


def timeline_json(report: Report) -> str:
    """Return the data as JSON that may stand in a ``script`` element."""
    start_us = report.trace.start_us
    names = _Numbers()
    data = {
        "span": _ns(report.trace.span_us),
        "lanes": [_lane(lane, start_us, names) for lane in _lanes(report)],
        "names": names.texts,
        "steps": [
            [step.number, _ns(step.start_us - start_us), _ns(step.end_us - start_us)]
            for step in report.steps[:_MOST_STEPS]
        ],
        "windows": [
            [_ns(window.start_us - start_us), _ns(window.end_us - start_us)]
            for window in report.windows
        ],
        "findings": [
            {
                "id": finding.id,
                "kind": printable(finding.kind, _NAME_WIDTH),
                "color": family(finding.pattern),
                "windows": list(finding.windows),
                "events": [
                    [
                        event.index,
                        _ns(event.start_us - start_us),
                        _ns(event.duration_us),
                    ]
                    for event in finding.events
                ],
            }
            for finding in report.findings
        ],
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


def _lane(lane: LaneView, start_us: float, names: _Numbers) -> dict[str, Any]:
    """Return a lane's slices as columns; each start counts from the one before."""
    slices = [s for s in lane.slices if s.depth < _MOST_DEPTH]
    starts = [_ns(s.start_us - start_us) for s in slices]
    return {
        "label": _label(lane),
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


def _label(lane: LaneView) -> str:
    where = "" if lane.device is None else f"device {lane.device} "
    return printable(where + lane.name, _NAME_WIDTH)


def _lanes(report: Report) -> Sequence[LaneView]:
    """Return the lanes that are drawn, those of the devices first."""
    lanes = report.lanes(limit=MOST_SLICES)
    return sorted(lanes, key=lambda lane: lane.kind != "stream")[:_MOST_LANES]


def _ns(us: float) -> int:
    return round(us * 1000)
