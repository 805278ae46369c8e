# SPDX-License-Identifier: BSD-3-Clause
"""small_work.py: something for a profiler to record, in a moment and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

CPU = [torch.profiler.ProfilerActivity.CPU]
# torch says so once a process, when a profiler begins a second cycle, and before 2.13 a
# first one (conftest.py).
SEVERAL_CYCLES = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
# Kineto's own export works once.
NEEDS_PYTHON_EXPORT = pytest.mark.skipif(
    torch.__version__ < (2, 13), reason="this torch cannot export a recording again"
)


def work() -> None:
    x = torch.randn(8, 8)
    for _ in range(3):
        x = (x @ x).relu()
    x.sum().item()


def recorded(**options: Any) -> Any:
    """A profiler that has recorded that work; options are torch.profiler.profile's."""
    with torch.profiler.profile(activities=CPU, **options) as prof:
        work()
    return prof


def loop(steps: int, **options: Any) -> Any:
    """A profile of ``steps`` steps; options are torchtraceap.profile's."""
    with torchtraceap.profile(**options) as prof:
        for _ in range(steps):
            work()
            prof.step()
    return prof


def profile_elsewhere() -> None:
    """Profile a little, as somebody else's code would."""
    with torch.profiler.profile(activities=CPU):
        work()


def steps_of(prof: Any) -> list[list[int]]:
    """The numbers of the steps in each report of a profile."""
    return [[step.number for step in report.steps] for report in prof.reports]
