# SPDX-License-Identifier: BSD-3-Clause
"""long_lists.py: how much of a report's long lists its JSON form has.

To write 100,000 steps, windows and paths took 22 s and 2.45 GB. The tables have all
steps and windows (docs/data.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchtraceap.facts import Step
    from torchtraceap.recovery import CriticalPath
    from torchtraceap.report import Report
    from torchtraceap.windows import Window

#: Of each list.
MOST = 10_000


@dataclass(frozen=True)
class LongLists:
    """What is listed, and how many more there are."""

    steps: tuple[Step, ...]
    step_count: int
    #: With the share of each that goes when all findings are fixed.
    windows: list[tuple[Window, float | None]]
    paths: tuple[CriticalPath, ...]
    unlisted: dict[str, int]


def long_lists(report: Report) -> LongLists:
    """Return the first steps and their paths, and the windows that waste most."""
    steps = report.first_steps(MOST)
    count = report.step_count
    paths = (
        report.critical_paths if count <= MOST else report.first_critical_paths(MOST)
    )
    windows = list(zip_longest(report.windows, report.recovery.windows))
    whole = len(windows)
    if whole > MOST:
        windows.sort(key=lambda pair: (-pair[0].wasted_us, pair[0].index))
        windows = sorted(windows[:MOST], key=lambda pair: pair[0].index)
    return LongLists(
        steps,
        count,
        windows,
        paths,
        {
            "steps": count - len(steps),
            "windows": whole - len(windows),
            # The first is the whole trace's; none, if it cannot be replayed.
            "critical_paths": max(0, count + 1 - len(paths)) if paths else 0,
        },
    )
