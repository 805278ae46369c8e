# SPDX-License-Identifier: BSD-3-Clause
"""memory_limits.py: the limits of memory, of devices and of the host."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap._core import Memory
from torchtraceap.gate.budget_data import NO_MEMORY, Violation, broken, undetermined
from torchtraceap.report_data import ReportData
from torchtraceap.views.memory_text import growth_text, peak_text

_RELATIVE = (
    "torch before 1.10 does not record how much was allocated when recording began"
)
_FEW_STEPS = "it takes five steps to see whether memory grows in each"


def judge_peak(report: ReportData, name: str, allowed: float) -> Iterator[Violation]:
    """Yield the devices on which tensors hold more, in 10^9 bytes."""
    devices = [row for row in report.memory if row.device is not None]
    if not devices:
        yield undetermined(name, allowed, NO_MEMORY)
    for row in devices:
        found = row.peak_bytes / 1e9
        if found > allowed:
            yield broken(name, allowed, found, peak_text(row, report))
        elif row.relative:
            yield undetermined(name, allowed, _RELATIVE, found)


def judge_growth(report: ReportData, name: str, allowed: float) -> Iterator[Violation]:
    """Yield memory that grows by more in each step, in 10^6 bytes."""
    grows: list[tuple[Memory, float]] = [
        (row, row.growth.bytes / 1e6) for row in report.memory if row.growth
    ]
    if not report.memory:
        yield undetermined(name, allowed, NO_MEMORY)
    elif not grows and report.step_count < 5:
        yield undetermined(name, allowed, _FEW_STEPS)
    for row, found in grows:
        if found > allowed:
            yield broken(name, allowed, found, growth_text(row))


OF_MEMORY = {"peak_memory_gb": judge_peak, "max_memory_growth_mb": judge_growth}
