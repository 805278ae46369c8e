# SPDX-License-Identifier: BSD-3-Clause
"""memory_limits.py: the limits of memory, of devices and of the host."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap.gate.budget_data import NO_MEMORY, Violation, broken, undetermined
from torchtraceap.report_data import ReportData
from torchtraceap.views.memory_text import growth_text, owner_text, peak_text

_RELATIVE = (
    "torch before 1.10 does not record how much was allocated when recording began"
)
_HOST_ALONE = "it is a limit of devices, and only the host's memory was recorded"
_FEW_STEPS = "it takes several steps to see what one adds"


def judge_peak(report: ReportData, name: str, allowed: float) -> Iterator[Violation]:
    """Yield the devices on which tensors hold more, in 10^9 bytes."""
    devices = [row for row in report.memory if row.device is not None]
    if not devices:
        why = _HOST_ALONE if report.memory else NO_MEMORY
        yield undetermined(name, allowed, why)
    for row in devices:
        found = row.peak_bytes / 1e9
        if found > allowed:
            yield broken(name, allowed, found, peak_text(row, report))
        elif row.relative:
            yield undetermined(name, allowed, _RELATIVE, found)


def judge_growth(report: ReportData, name: str, allowed: float) -> Iterator[Violation]:
    """Yield memory whose median step adds more, in 10^6 bytes."""
    grows = [row for row in report.memory if row.step_growth_bytes is not None]
    if not report.memory:
        yield undetermined(name, allowed, NO_MEMORY)
    elif not grows:
        yield undetermined(name, allowed, _FEW_STEPS)
    for row in grows:
        found = (row.step_growth_bytes or 0) / 1e6
        if found > allowed:
            text = growth_text(row) or f"{owner_text(row, report)}, in the median step"
            yield broken(name, allowed, found, text)


OF_MEMORY = {"peak_memory_gb": judge_peak, "max_memory_growth_mb": judge_growth}
