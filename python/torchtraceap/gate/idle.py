# SPDX-License-Identifier: BSD-3-Clause
"""idle.py: the longest stretch of time in which a device had no work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.units import us_from_ns

if TYPE_CHECKING:
    from torchtraceap.facts import Balance
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report


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


def longest_pause(report: Report, device: Balance) -> Pause:
    """Return the longest time between two pieces of work of a device, by its row of
    the balance.

    What lies before its first and after its last work is where the recording began
    and ended, not a pause.
    """
    return Pause(*report._core.longest_pause(device._key))


def cause_of(report: Report, device: Balance, pause: Pause) -> Finding | None:
    """Return the finding to which most of a stretch is attributed; None if none is."""
    best, most_ns = None, 0
    for index, finding in enumerate(report._core.findings):
        part_ns = sum(
            max(0, min(claim.end, pause.end_ns) - max(claim.begin, pause.begin_ns))
            for claim in finding.claims
            if claim.idle and claim.device == device._key
        )
        if part_ns > most_ns:
            best, most_ns = index, part_ns
    return None if best is None else report.rule_findings[best]
