# SPDX-License-Identifier: BSD-3-Clause
"""long_lists.py: how much of a report's long lists its JSON form has.

To write 100,000 steps, windows and paths took 22 s and 2.45 GB. The tables have all
steps and windows (docs/outputs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
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


def long_lists(report: Report, windows: Sequence[Window]) -> LongLists:
    """Return the first steps and their paths, and of all windows, with the labels that
    are to be shown, those that waste most, then those that are flagged."""
    steps = report.first_steps(MOST)
    count = report.step_count
    paths = (
        report.critical_paths if count <= MOST else report.first_critical_paths(MOST)
    )
    pairs = list(zip_longest(windows, report.recovery.windows))
    whole = len(pairs)
    if whole > MOST:
        # What only the model flags wastes nothing that is proven, and is shown before
        # what nobody flags.
        pairs.sort(
            key=lambda pair: (-pair[0].wasted_us, not pair[0].labels, pair[0].index)
        )
        pairs = sorted(pairs[:MOST], key=lambda pair: pair[0].index)
    return LongLists(
        steps,
        count,
        pairs,
        paths,
        {
            "steps": count - len(steps),
            "windows": whole - len(pairs),
            # The first is the whole trace's; none, if it cannot be replayed.
            "critical_paths": max(0, count + 1 - len(paths)) if paths else 0,
        },
    )
