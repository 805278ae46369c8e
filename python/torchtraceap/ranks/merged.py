# SPDX-License-Identifier: BSD-3-Clause
"""merged.py: the ranks in a file that was merged from the files of several."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.ranks.file_names import ranks_of_axes

# TP00-DP01-PP00-EP00, as SGLang calls a rank.
_AXIS = re.compile(r"(TP|DP|PP|EP)(\d+)(?=-|$)")


@dataclass(frozen=True)
class MergedRank:
    """One rank of a merged file."""

    rank: int
    #: What the file calls it: "TP00-DP01"; "" where only the processes differ, and the
    #: rank is its place in their order.
    label: str
    pids: tuple[int, ...]  #: Its processes and devices, as in the pid column.

    def part_of(self, trace: _core.Trace) -> _core.Trace:
        """Return the trace of this rank alone, which is analyzed as any other is.

        Rows are counted anew; args are read from the file of the whole, on demand. It
        takes the memory of its own rows, and keeps nothing of ``trace`` alive.
        """
        return trace.of_processes(list(self.pids), self.rank)


def merged_ranks(trace: _core.Trace) -> tuple[MergedRank, ...]:
    """Return the ranks of a merged file, in order; none of a file of one rank.

    Processes go together by a label in their pids or names ("[TP01] 4000", "rank 1"),
    and with the devices that they feed. Files whose ranks share pids are not told
    apart: their report says so (`shared_device_number`).
    """
    found = _core.rank_processes(trace)
    axes = [
        {axis: int(number) for axis, number in _AXIS.findall(label)}
        for label, _ in found
    ]
    numbers: list[int | None] = [
        int(label[:9]) if label.isdigit() else None for label, _ in found
    ]
    told = numbers if None not in numbers else ranks_of_axes(axes)
    if None in told or len(set(told)) < len(told):
        told = list(range(len(found)))
    ranks = [
        MergedRank(rank, label, tuple(pids))
        for rank, (label, pids) in zip(told, found, strict=True)
        if rank is not None
    ]
    return tuple(sorted(ranks, key=lambda one: one.rank))
