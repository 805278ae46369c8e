# SPDX-License-Identifier: BSD-3-Clause
"""work_text.py: what ran, as plain text tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import first_of, table_lines
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.heading import device_text

if TYPE_CHECKING:
    from torchtraceap.data.work import Counts
    from torchtraceap.report_data import ReportData

_THREADS_SHOWN = 10
_THREAD_WIDTH = 24
_ID_WIDTH = 16
_NO_THREADS = "-"
# Of `Thread`: those that no thread has time in are not shown.
PARTS = {
    "operators": "operators_us",
    "calls": "calls_us",
    "compile": "compile_us",
    "Python": "python_us",
    "loader": "wait_loader_us",
    "comm": "wait_comm_us",
    "sync": "wait_device_us",
    "other waits": "wait_other_us",
    "profiler": "profiler_us",
    "no event": "idle_us",
}


def thread_lines(report: ReportData) -> Iterator[str]:
    """Yield the ten busiest threads with the shares of their time."""
    threads = report.threads[:_THREADS_SHOWN]
    span_us = report.trace.span_us
    parts = {
        title: part
        for title, part in PARTS.items()
        if any(getattr(thread, part) for thread in threads)
    }
    rows = [
        (
            printable(str(t.pid), _ID_WIDTH),
            printable(str(t.tid), _ID_WIDTH),
            _share(t.busy_us, span_us),
            *(_share(getattr(t, part), span_us) for part in parts.values()),
            printable(t.name, _THREAD_WIDTH) or _NO_THREADS,
        )
        for t in threads
    ]
    shown = first_of(len(rows), len(report.threads))
    yield from table_lines(
        f"Threads{shown}, by the time they were busy; shares of {time_text(span_us)}:",
        ("process", "thread", "busy", *parts, "name"),
        rows,
    )


def _share(us: float, span_us: float) -> str:
    return share_text(us, span_us) if us else _NO_THREADS


_SHOWN = 10
_NAME_WIDTH = 44
_NONE = "-"


def write_tables(report: ReportData) -> str:
    """Return the tables that have rows, each with its ten greatest."""
    blocks = [
        list(_kernels(report)),
        list(_copies(report)),
        list(_operators(report)),
        list(thread_lines(report)),
        list(_counts(report)),
        list(_overlap(report)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _kernels(report: ReportData) -> Iterator[str]:
    kernels = report.kernels
    rows = [
        (
            str(k.count),
            # Together they may have taken longer than the time in which any ran.
            time_text(k.total_us),
            share_text(k.busy_share, 1),
            time_text(k.mean_us),
            time_text(k.max_us),
            _NONE if k.blocks is None else f"{k.blocks}",
            _NONE if k.block_threads is None else f"{k.block_threads}",
            _NONE if k.occupancy is None else f"{k.occupancy:.0f} %",
            printable(k.name, _NAME_WIDTH),
        )
        for k in kernels[:_SHOWN]
    ]
    head = ("count", "sum", "of busy", "mean", "max")
    yield from table_lines(
        f"Kernels{first_of(len(rows), len(kernels))}, by the time in which any ran:",
        (*head, "blocks", "threads", "occup.", "name"),
        rows,
    )


def _copies(report: ReportData) -> Iterator[str]:
    rows = [
        (
            str(c.count),
            time_text(c.total_us),
            time_text(c.mean_us),
            time_text(c.max_us),
            _NONE if c.bytes is None else size_text(c.bytes),
            _NONE if c.median_bytes is None else size_text(c.median_bytes),
            _NONE if c.bandwidth is None else f"{c.bandwidth:.3g} GB/s",
            f"{c.direction or 'unknown'} {c.memory}".rstrip(),
        )
        for c in report.copies
    ]
    head = ("count", "sum", "mean", "max", "bytes", "median", "speed", "kind")
    yield from table_lines("Copies and memsets:", head, rows)


def _operators(report: ReportData) -> Iterator[str]:
    operators = report.operators
    on_device = any(o.work for o in operators)
    rows = [
        (
            str(o.count),
            time_text(o.self_us),
            time_text(o.total_us),
            *([_time(o.self_device_us), _time(o.device_us)] if on_device else []),
            printable(o.name, _NAME_WIDTH),
        )
        for o in operators[:_SHOWN]
    ]
    device = ("own device", "device") if on_device else ()
    shown = first_of(len(rows), len(operators))
    yield from table_lines(
        f"Operators{shown}, by their own time on the host:",
        ("count", "own", "total", *device, "name"),
        rows,
    )


def _counts(report: ReportData) -> Iterator[str]:
    counts = report.kernel_counts
    parts: list[tuple[str, Counts | None]] = [
        ("step", counts.steps),
        ("window", counts.windows),
    ]
    texts = [
        f"{c.min:,} to {c.max:,} a {name}, median {c.median:,g} ({len(c.each):,} {name}"
        + ("s)" if len(c.each) != 1 else ")")
        for name, c in parts
        if c is not None
    ]
    if texts:
        yield "Kernels launched: " + "; ".join(texts)


def _overlap(report: ReportData) -> Iterator[str]:
    rows = [
        (
            device_text(o, report),
            _time(o.compute_us),
            _time(o.communication_us),
            share_text(o.communication_hidden_us, o.communication_us),
            _time(o.copy_us),
            share_text(o.copy_hidden_us, o.copy_us),
        )
        for o in report.overlap[:_SHOWN]
    ]
    yield from table_lines(
        f"Overlap with computation{first_of(len(rows), len(report.overlap))}:",
        ("device", "compute", "communication", "hidden", "copies", "hidden"),
        rows,
    )


def _time(us: float) -> str:
    return time_text(us) if us else _NONE


def size_text(count: int) -> str:
    """Write a number of bytes with three digits."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size * 0.9995:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
