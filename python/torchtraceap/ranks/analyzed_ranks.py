# SPDX-License-Identifier: BSD-3-Clause
"""analyzed_ranks.py: a file analyzed, or each of the ranks that were merged into it."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap.analysis_plan import AnalysisPlan, of_torch
from torchtraceap.base.errors import RuleError, TraceError
from torchtraceap.data.load import LoadPlan, read_trace
from torchtraceap.ranks.merged import merged_ranks
from torchtraceap.report import Report

#: What one file may be the reason of, as ``analyze`` documents; all else is a mistake
#: in the options or in this package, whatever the file.
FAULTS = (TraceError, OSError, MemoryError, RuleError)


def analyzed_ranks(
    path: str, loading: LoadPlan, plan: AnalysisPlan
) -> Iterator[Report]:
    """Load a file, and yield the report of the rank in it, or of each in a merged one.

    Raises what ``analyze`` does. Of a merged file one rank after the other is analyzed,
    so that memory is that of the file and of its largest rank.
    """
    trace = read_trace(path, loading)
    merged = merged_ranks(trace)
    for rank in merged:
        yield plan.report(rank.part_of(trace), loading.steps)
    if not merged:
        yield of_torch(plan.report(trace, loading.steps))
