# SPDX-License-Identifier: BSD-3-Clause
"""balance_bars.py: the balance sheet as bars: each device's time, all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchtraceap import _core
from torchtraceap._core import Balance
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import most_first, whose_text
from torchtraceap.views.html.colors import family

MOST_ROWS = 16  # As in the summary: the largest machines that one process feeds.


class Part(NamedTuple):
    """A part of a device's time."""

    name: str
    color: str  # A family of colors.py, "busy" or "rest".
    us: float
    x: float  # Where it begins in the bar, and its length, in percent.
    width: float
    bound: bool = False  # An estimate: at most so much.


class Bar(NamedTuple):
    """The time of one device, or of a process without one."""

    title: str
    span_us: float
    busy_us: float
    parts: tuple[Part, ...]  # Without those that have no time; together the span.


def balance_bars(report: ReportData) -> list[Bar]:
    """Return a bar for each of the first devices or processes."""
    estimates = {pattern.name for pattern in _core.patterns() if pattern.estimate}
    return [
        Bar(
            whose_text(row, report),
            row.span_us,
            row.busy_us,
            tuple(_parts(row, estimates)),
        )
        for row in report.balance[:MOST_ROWS]
    ]


def _parts(row: Balance, estimates: set[str]) -> Iterator[Part]:
    excess = most_first(row.excess_us)
    busy = "busy" if row.device is not None else "in operators"
    if excess:
        busy += " otherwise"
    wasted_us = sum(us for _, us in excess)
    named = [(busy, "busy", row.busy_us - wasted_us, False)]
    named += [
        (f"{name}, while busy", family(name), us, name in estimates)
        for name, us in excess
    ]
    named += [(name, family(name), us, False) for name, us in most_first(row.idle_us)]
    named.append(("unattributed", "rest", row.unattributed_us - row.delay_us, False))
    named.append(("kernel-to-kernel delay", "rest", row.delay_us, False))
    x = 0.0
    for name, color, us, bound in named:
        if us > 0 and row.span_us > 0:
            width = 100 * us / row.span_us
            yield Part(name, color, us, x, width, bound)
            x += width
