# SPDX-License-Identifier: BSD-3-Clause
"""work_tables.py: kernels, copies, operators and more as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.devices import device_text
from torchtraceap.safe_text import printable
from torchtraceap.text_table import first_of, table_lines
from torchtraceap.thread_table import thread_lines
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.report import Report
    from torchtraceap.work import Counts

_SHOWN = 10
_NAME_WIDTH = 44
_NONE = "-"


def write_tables(report: Report) -> str:
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


def _kernels(report: Report) -> Iterator[str]:
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


def _copies(report: Report) -> Iterator[str]:
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


def _operators(report: Report) -> Iterator[str]:
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


def _counts(report: Report) -> Iterator[str]:
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


def _overlap(report: Report) -> Iterator[str]:
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
