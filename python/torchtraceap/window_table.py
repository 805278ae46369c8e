# SPDX-License-Identifier: BSD-3-Clause
"""window_table.py: the labeled windows that waste most, as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.devices import device_text
from torchtraceap.safe_text import printable
from torchtraceap.text_table import align
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.report import Report


def window_lines(report: Report, limit: int) -> Iterator[str]:
    """Yield a title and the `limit` windows that waste most; nothing if none does."""
    labeled = [window for window in report.windows if window.labels]
    if limit == 0 or not labeled:
        return
    worst = sorted(labeled, key=lambda w: w.wasted_us, reverse=True)[:limit]
    yield (
        f"Windows (stretches of the trace), most wasted time first ({len(worst)} of "
        f"{len(labeled)} labeled, {len(report.windows)} in all):"
    )
    on_hosts = report.trace.processes > 1
    where = "process" if on_hosts else "device"
    rows = [("#", "from", "length", "step", where, "busy", "labels")]
    for window in worst:
        labels = [
            f"{label.pattern} {share_text(label.score, 1)}"
            + (f" ({label.origin})" if label.origin == "model" else "")
            for label in window.labels
        ]
        on_device = window.device is not None
        rows.append(
            (
                str(window.index),
                "+" + time_text(window.start_us - report.trace.start_us),
                time_text(window.duration_us),
                "-" if window.step is None else str(window.step),
                printable(str(window.pid), 16)
                if on_hosts
                else device_text(window, report)
                if on_device
                else "-",
                share_text(window.busy_us, window.duration_us) if on_device else "-",
                ", ".join(labels),
            )
        )
    for line in align(rows, right=(0, 1, 2, 3, 4, 5)):
        yield f"  {line}"
