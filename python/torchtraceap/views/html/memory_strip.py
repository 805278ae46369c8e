# SPDX-License-Identifier: BSD-3-Clause
"""memory_strip.py: the memory of each device over the analyzed time, as areas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchtraceap._core import Memory
from torchtraceap.report_data import ReportData
from torchtraceap.views.html.balance_bars import MOST_ROWS
from torchtraceap.views.memory_text import owner_text, peak_text

HEIGHT = 44  # Of a lane, in pixels.
_WIDTH = 1000  # Of the area's own coordinates.


class Lane(NamedTuple):
    """The memory of one device, or of the host."""

    title: str
    label: str  # For those who do not see it.
    allocated: tuple[str, ...]  # Points of a polygon.
    reserved: tuple[str, ...]  # The same; none where it is not recorded.
    peak: float  # When, in percent of the analyzed time.
    height: int = HEIGHT


def memory_strip(report: ReportData) -> list[Lane]:
    """Return a lane for each of the first devices; without any, for the host."""
    devices = [row for row in report.memory if row.device is not None]
    shown = (devices or report.memory)[:MOST_ROWS]
    return [_lane(row, report) for row in shown if report.trace.span_us > 0]


def _lane(row: Memory, report: ReportData) -> Lane:
    start_us, span_us = report.trace.start_us, report.trace.span_us
    times = [min(1.0, max(0.0, (p.at_us - start_us) / span_us)) for p in row.line]
    allocated = [point.allocated for point in row.line]
    reserved = [point.reserved or 0 for point in row.line]
    least, most = min(0, *allocated), max(1, *allocated, *reserved)
    owner = owner_text(row, report)

    def area(levels: Sequence[int]) -> tuple[str, ...]:
        """A level holds until the next point, the last one to the end."""
        height = [HEIGHT * (most - level) / (most - least) for level in levels]
        ends = [*times[1:], 1.0]
        corners = [(times[0], float(HEIGHT))]
        for begin, end, y in zip(times, ends, height, strict=True):
            corners += [(begin, y), (end, y)]
        corners.append((1.0, float(HEIGHT)))
        return tuple(f"{_WIDTH * x:.1f},{y:.1f}" for x, y in corners)

    return Lane(
        title=f"Memory, {owner}",
        label=f"Memory over time: {peak_text(row, report)}",
        allocated=area(allocated),
        reserved=area(reserved) if any(reserved) else (),
        peak=100 * min(1.0, max(0.0, (row.peak_at_us - start_us) / span_us)),
    )
