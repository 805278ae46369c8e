# SPDX-License-Identifier: BSD-3-Clause
"""thread_table.py: what each thread did, as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.safe_text import printable
from torchtraceap.text_table import first_of, table_lines
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.report import Report

_SHOWN = 10
_NAME_WIDTH = 24
_ID_WIDTH = 16
_NONE = "-"
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


def thread_lines(report: Report) -> Iterator[str]:
    """Yield the ten busiest threads with the shares of their time."""
    threads = report.threads[:_SHOWN]
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
            printable(t.name, _NAME_WIDTH) or _NONE,
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
    return share_text(us, span_us) if us else _NONE
