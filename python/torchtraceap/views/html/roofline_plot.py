# SPDX-License-Identifier: BSD-3-Clause
"""roofline_plot.py: operators under the roof of their device, as a drawing.

Both axes are logarithmic: FLOPs a byte to the right, achieved TFLOP/s upward. The area
of a point is the operator's device time. Lines are the peaks of the data sheet that its
types have; a point below them could be faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchtraceap._core import RooflineRow
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, three_digits, time_text
from torchtraceap.report_data import ReportData

WIDTH, HEIGHT = 760, 380  # Of the drawing, in pixels; margins are in it.
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 24, 40
_MOST_POINTS = 300  # Those with the most time.
_LEAST = 1e-3  # Of the time of all: what takes less only stretches the axes.
_LARGEST = 20  # Radius of the point with the most time, in pixels.


class Point(NamedTuple):
    x: float
    y: float
    radius: float
    slow: bool
    title: str


class Tick(NamedTuple):
    at: float
    text: str


class Roof(NamedTuple):
    path: str  # Of SVG.
    x: float
    y: float
    text: str


class Plot(NamedTuple):
    """One device's operators."""

    title: str
    points: tuple[Point, ...]
    roofs: tuple[Roof, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


class _Axis(NamedTuple):
    """A logarithmic axis from ``low`` to ``high``, both powers of ten."""

    low: int
    high: int
    begin: float
    length: float  # Negative: upward.

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.begin + self.length * share, 1)

    def ticks(self) -> tuple[Tick, ...]:
        powers = range(self.low, self.high + 1)
        return tuple(Tick(self.at(10.0**power), f"{10.0**power:g}") for power in powers)


def roofline_plots(report: ReportData) -> list[Plot]:
    """Return a drawing of each device that has judged operators with flops."""
    devices: dict[int, list[RooflineRow]] = {}
    for row in report.roofline:
        if row.peak_tflop_s and row.intensity > 0 and row.tflop_s > 0:
            devices.setdefault(row.device, []).append(row)
    return [_plot(device, rows) for device, rows in sorted(devices.items())]


def _plot(device: int, rows: list[RooflineRow]) -> Plot:
    least = _LEAST * sum(row.device_us for row in rows)
    rows = sorted(rows, key=lambda row: -row.device_us)[:_MOST_POINTS]
    rows = [row for row in rows if row.device_us >= least] or rows
    across = _axis([row.intensity for row in rows], _LEFT, WIDTH - _LEFT - _RIGHT)
    peaks = sorted({row.peak_tflop_s or 0 for row in rows})
    heights = [row.tflop_s for row in rows] + peaks
    up = _axis(heights, HEIGHT - _BOTTOM, _TOP + _BOTTOM - HEIGHT)
    longest = rows[0].device_us
    points = tuple(
        Point(
            across.at(row.intensity),
            up.at(row.tflop_s),
            round(max(2.0, _LARGEST * math.sqrt(row.device_us / longest)), 1),
            row.slow,
            _title(row),
        )
        for row in rows
    )
    memory = rows[0].peak_gb_s or 0
    return Plot(
        f"Device {device}",
        points,
        tuple(_roofs(across, up, peaks, memory)),
        across.ticks(),
        up.ticks(),
    )


def _axis(values: Sequence[float], begin: float, length: float) -> _Axis:
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return _Axis(low, max(high, low + 1), begin, length)


def _roofs(
    across: _Axis, up: _Axis, peaks: Sequence[float], memory: float
) -> Iterator[Roof]:
    """Yield the slope of the memory, which all share, and the level of each peak."""
    right = 10.0**across.high
    for peak in peaks:
        ridge = peak * 1e3 / memory  # TFLOP/s over GB/s: FLOPs a byte.
        first = max(10.0**across.low, 10.0**up.low * 1e3 / memory)
        corner = min(max(ridge, first), right)
        begin = f"{across.at(first)},{up.at(first * memory / 1e3)}"
        level = up.at(min(peak, corner * memory / 1e3))
        path = f"M{begin}L{across.at(corner)},{level}H{across.at(right)}"
        yield Roof(path, across.at(right), level, f"{three_digits(peak)} TFLOP/s")


def _title(row: RooflineRow) -> str:
    parts = [
        f"{row.name} {row.inputs}",
        f"{time_text(row.device_us)} in {row.count:,} calls",
        f"{three_digits(row.tflop_s)} TFLOP/s at {three_digits(row.intensity)} "
        "FLOPs a byte",
    ]
    if row.efficiency:
        parts.append(f"{share_text(row.efficiency, 1)} of its {row.bound} roofline")
    if row.reason:
        parts.append(f"{row.reason}: {row.evidence}")
    return "\n".join(printable(part) for part in parts)
