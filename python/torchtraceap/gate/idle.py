# SPDX-License-Identifier: BSD-3-Clause
"""idle.py: the longest stretch of time in which a device had no work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.units import us_from_ns

if TYPE_CHECKING:
    from torchtraceap.facts import Balance
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

# Of the core's categories, those that keep a device busy.
_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op")


@dataclass(frozen=True)
class Pause:
    """A stretch between two pieces of a device's work, in the trace's nanoseconds.

    It is empty where the device never paused.
    """

    begin_ns: int
    end_ns: int

    @property
    def duration_us(self) -> float:
        """Its length."""
        return us_from_ns(self.end_ns - self.begin_ns)


def longest_pause(report: Report, device: Balance) -> Pause | None:
    """Return the longest time between two pieces of work of a device, by its row of
    the balance; None if the events do not add up to its busy time.

    What lies before its first and after its last work is where the recording began
    and ended, not a pause. Exact; O(n log n) of the device's work.
    """
    import numpy as np

    columns = report._trace.columns
    numbers = [n for n, name in enumerate(_core.category_names()) if name in _WORK]
    work = np.isin(columns["category"], numbers) & (columns["device"] == device.device)
    work &= (columns["ts"] != _core.NO_TIME) & (columns["dur"] >= 0)
    begins = columns["ts"][work]
    if not begins.size:
        return None
    order = np.argsort(begins, kind="stable")
    begins = begins[order]
    reached = np.maximum.accumulate(begins + columns["dur"][work][order])
    pauses = np.maximum(begins[1:] - reached[:-1], 0)
    busy_ns = int(reached[-1] - begins[0] - pauses.sum())
    if us_from_ns(busy_ns) != device.busy_us:
        return None
    if not pauses.size:
        return Pause(0, 0)
    at = int(pauses.argmax())
    return Pause(int(reached[at]), int(reached[at] + pauses[at]))


def cause_of(report: Report, device: Balance, pause: Pause) -> Finding | None:
    """Return the finding to which most of a stretch is attributed; None if none is."""
    best, most_ns = None, 0
    for index, finding in enumerate(report._core.findings):
        part_ns = sum(
            max(0, min(claim.end, pause.end_ns) - max(claim.begin, pause.begin_ns))
            for claim in finding.claims
            if claim.idle and claim.device == device.device
        )
        if part_ns > most_ns:
            best, most_ns = index, part_ns
    return None if best is None else report.findings[best]
