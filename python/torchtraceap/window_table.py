# SPDX-License-Identifier: BSD-3-Clause
"""window_table.py: the stretches of windows that waste most, as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.devices import device_text
from torchtraceap.safe_text import printable
from torchtraceap.stretches import FLAGGED, SAVED_BY_EACH, labeled_stretches
from torchtraceap.text_table import align
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.report import Report


def window_lines(report: Report, limit: int) -> Iterator[str]:
    """Yield a title and the `limit` stretches that waste most; nothing if none does."""
    stretches = labeled_stretches(report)
    if limit == 0 or not stretches:
        return
    labeled = sum(len(stretch.windows) for stretch in stretches)
    yield (
        "Windows, most wasted time first, like neighbors as one "
        f"({min(limit, len(stretches))} of {len(stretches)}; {labeled} of "
        f"{len(report.windows)} labeled):"
    )
    on_hosts = report.trace.processes > 1
    where = "process" if on_hosts else "device"
    asked = (FLAGGED,) if report.detection.run else ()
    rows = [("#", "from", "length", "step", where, "busy", *asked, SAVED_BY_EACH)]
    for stretch in stretches[:limit]:
        window = stretch.first
        labels = [
            f"{label.pattern} {share_text(share, 1)}" for label, share in stretch.labels
        ]
        on_device = window.device is not None
        rows.append(
            (
                stretch.name,
                "+" + time_text(window.start_us - report.trace.start_us),
                time_text(stretch.duration_us),
                "-" if window.step is None else str(window.step),
                printable(str(window.pid), 16)
                if on_hosts
                else device_text(window, report)
                if on_device
                else "-",
                share_text(stretch.busy_us, stretch.duration_us) if on_device else "-",
                *((stretch.flagged,) if asked else ()),
                ", ".join(labels),
            )
        )
    for line in align(rows, right=range(len(rows[0]) - 1)):
        yield f"  {line}"
