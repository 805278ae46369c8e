# SPDX-License-Identifier: BSD-3-Clause
"""work_rows.py: kernels, copies, operators, threads and windows as tables of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.heading import device_text
from torchtraceap.views.stretches import FLAGGED, SAVED_BY_EACH, labeled_stretches
from torchtraceap.views.work_text import PARTS, size_text

if TYPE_CHECKING:
    from torchtraceap.report_data import ReportData

_MOST_ROWS = 100
_NONE = "–"


class Cell(NamedTuple):
    """What is written, and for a number what it is sorted by."""

    text: str
    value: float | None = None


class Table(NamedTuple):
    """Rows under headings; the columns of numbers are set flush right."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    more: int  # Rows that are left out.


def work_rows(report: ReportData) -> Iterator[Table]:
    """Yield the tables that have rows."""
    for table in (
        _kernels(report),
        _copies(report),
        _operators(report),
        _threads(report),
        _overlap(report),
        _windows(report),
    ):
        if table.rows:
            yield table


def _table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
    there: int,
) -> Table:
    return Table(name, title, tuple(columns), rows, there - len(rows))


def _kernels(report: ReportData) -> Table:
    rows = [
        (
            Cell(k.name),
            _count(k.count),
            _time(k.total_us),
            _share(k.busy_share, 1),
            _time(k.mean_us),
            _time(k.max_us),
            _count(k.blocks),
            _count(k.block_threads),
            _NO if k.occupancy is None else Cell(f"{k.occupancy:.0f} %", k.occupancy),
        )
        for k in report.kernels[:_MOST_ROWS]
    ]
    columns = ("kernel", "count", "sum", "of busy", "mean", "max", "blocks", "threads")
    title = "Kernels, by the time in which any ran"
    return _table("kernels", title, (*columns, "occup."), rows, len(report.kernels))


def _copies(report: ReportData) -> Table:
    rows = [
        (
            Cell(f"{c.direction or 'unknown'} {c.memory}".rstrip()),
            _count(c.count),
            _time(c.total_us),
            _time(c.mean_us),
            _time(c.max_us),
            _NO if c.bytes is None else Cell(size_text(c.bytes), c.bytes),
            _NO
            if c.bandwidth is None
            else Cell(f"{c.bandwidth:.3g} GB/s", c.bandwidth),
        )
        for c in report.copies
    ]
    columns = ("kind", "count", "sum", "mean", "max", "bytes", "speed")
    return _table("copies", "Copies and memsets", columns, rows, len(rows))


def _operators(report: ReportData) -> Table:
    rows = [
        (
            Cell(o.name),
            _count(o.count),
            _time(o.self_us),
            _time(o.total_us),
            _time(o.self_device_us),
            _time(o.device_us),
        )
        for o in report.operators[:_MOST_ROWS]
    ]
    columns = ("operator", "count", "own", "total", "own device", "device")
    title = "Operators, by their own time on the host"
    return _table("operators", title, columns, rows, len(report.operators))


def _threads(report: ReportData) -> Table:
    threads = report.threads[:_MOST_ROWS]
    span_us = report.trace.span_us
    parts = {t: p for t, p in PARTS.items() if any(getattr(x, p) for x in threads)}
    rows = [
        (
            Cell(f"{t.name or 'thread'} {t.tid}"),
            Cell(str(t.pid)),
            _share(t.busy_us, span_us),
            *(_share(getattr(t, part), span_us) for part in parts.values()),
        )
        for t in threads
    ]
    columns = ("thread", "process", "busy", *parts)
    title = f"Threads, in shares of {time_text(span_us)}"
    return _table("threads", title, columns, rows, len(report.threads))


def _overlap(report: ReportData) -> Table:
    rows = [
        (
            Cell(f"Device {device_text(o, report)}"),
            _time(o.compute_us),
            _time(o.communication_us),
            _share(o.communication_hidden_us, o.communication_us),
            _time(o.copy_us),
            _share(o.copy_hidden_us, o.copy_us),
        )
        for o in report.overlap[:_MOST_ROWS]
    ]
    columns = ("device", "compute", "communication", "hidden", "copies", "hidden")
    title = "Overlap with computation"
    return _table("overlap", title, columns, rows, len(report.overlap))


def _windows(report: ReportData) -> Table:
    stretches = labeled_stretches(report)
    asked = (FLAGGED,) if report.detection.run else ()
    rows = [
        (
            Cell(s.name, w.index),
            Cell(
                "+" + time_text(w.start_us - report.trace.start_us),
                w.start_us - report.trace.start_us,
            ),
            _time(s.duration_us),
            _count(w.step),
            _NO if w.device is None else Cell(device_text(w, report), w.device),
            _share(s.busy_us, s.duration_us) if w.device is not None else _NO,
            _share(s.wasted_us, s.duration_us),
            *((Cell(s.flagged),) if asked else ()),
            Cell(
                ", ".join(
                    f"{printable(label.pattern)} {share_text(share, 1)}"
                    for label, share in s.labels
                )
            ),
        )
        for s, w in ((s, s.first) for s in stretches[:_MOST_ROWS])
    ]
    columns = (
        "windows",
        "from",
        "length",
        "step",
        "device",
        "busy",
        "lost",
        *asked,
        SAVED_BY_EACH,
    )
    title = "Windows, most wasted time first, like neighbors as one"
    return _table("windows", title, columns, rows, len(stretches))


_NO = Cell(_NONE, -1.0)  # Below every number.


def _count(number: int | None) -> Cell:
    return _NO if number is None else Cell(f"{number:,}", number)


def _time(us: float) -> Cell:
    return Cell(time_text(us), us) if us else _NO


def _share(part: float, whole: float) -> Cell:
    return Cell(share_text(part, whole), part / whole) if part and whole else _NO
