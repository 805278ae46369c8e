# SPDX-License-Identifier: BSD-3-Clause
"""merged.py: a file analyzed, or each of the ranks that were merged into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.analysis_plan import AnalysisPlan, of_torch
from torchtraceap.base.errors import RuleError, TraceError
from torchtraceap.data.load import LoadPlan, read_trace
from torchtraceap.ranks.file_names import ranks_of_axes
from torchtraceap.report import Report

#: Errors that one file may cause, as ``analyze`` documents; all others are mistakes in
#: the options or in this package.
FAULTS = (TraceError, OSError, MemoryError, RuleError)

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
        """Return the trace of this rank alone, which is analyzed like any other.

        Rows are renumbered; args are read from the merged file, on demand. It takes the
        memory of its own rows, and keeps nothing of ``trace`` alive.
        """
        return trace.of_processes(list(self.pids), self.rank)


def merged_ranks(trace: _core.Trace) -> tuple[MergedRank, ...]:
    """Return the ranks of a merged file, in order; none of a file of one rank.

    Processes go together by a label in their pids or names ("[TP01] 4000", "rank 1"),
    and with the devices that they feed. Ranks that share pids cannot be separated:
    their report says so (`shared_device_number`).
    """
    found = _core.rank_processes(trace)
    axes = [
        {axis: int(number) for axis, number in _AXIS.findall(label)}
        for label, _ in found
    ]
    numbers: list[int | None] = [
        int(label[:9]) if label.isdigit() else None for label, _ in found
    ]
    known = numbers if None not in numbers else ranks_of_axes(axes)
    if None in known or len(set(known)) < len(known):
        known = list(range(len(found)))
    ranks = [
        MergedRank(rank, label, tuple(pids))
        for rank, (label, pids) in zip(known, found, strict=True)
        if rank is not None
    ]
    return tuple(sorted(ranks, key=lambda one: one.rank))


def analyzed_ranks(
    path: str, loading: LoadPlan, plan: AnalysisPlan
) -> Iterator[Report]:
    """Load a file, and yield the report of the rank in it, or of each in a merged one.

    Raises what ``analyze`` does. The ranks of a merged file are analyzed one after the
    other, so that memory is that of the file and of its largest rank.
    """
    trace = read_trace(path, loading)
    merged = merged_ranks(trace)
    for rank in merged:
        yield plan.report(rank.part_of(trace), loading.steps)
    if not merged:
        yield of_torch(plan.report(trace, loading.steps))
