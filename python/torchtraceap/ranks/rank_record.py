# SPDX-License-Identifier: BSD-3-Clause
"""rank_record.py: a rank's trace, analyzed and reduced to what its job needs of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap._core import Note, RankFinding, RankRow, TraceFacts

if TYPE_CHECKING:
    from torchtraceap.report_data import ReportData

# By what process groups of a pipeline are called: Megatron, DeepSpeed, torchtitan.
_PIPELINE = ("PIPELINE", "PP", "PIPE")
_OF_FINDINGS = tuple(name for name, *_ in _core.fields(RankFinding))


@dataclass(frozen=True, kw_only=True)
class RankRecord:
    """What is kept of a rank once its trace is let go: of each of its collectives a
    kilobyte, or less."""

    facts: TraceFacts
    row: RankRow  #: All that does not depend on other ranks.
    findings: tuple[RankFinding, ...]
    work: bytes | None  #: Of ``_core.RankWork``; None if nothing can be scheduled.
    refusal: str  #: Why not.
    notes: tuple[Note, ...] = ()  #: On files beside its trace.


def record_of(report: ReportData) -> RankRecord:
    """Reduce a report. O(n log n) in its trace, see ``_core.Report.rank_work``."""
    distributed = metadata_of(report.loaded, "distributedInfo")
    host = metadata_of(report.loaded, "host_name")
    begin = metadata_of(report.loaded, "baseTimeNanoseconds")
    facts = report.trace
    rank = -1 if facts.rank is None else facts.rank
    work, refusal = None, ""
    try:
        work = report.core.rank_work(
            rank,
            _stage(distributed, rank),
            host if isinstance(host, str) else "",
            begin if isinstance(begin, int) and 0 <= begin < 2**62 else 0,
        ).to_bytes()
    except ValueError as error:
        refusal = str(error)
    devices = sorted({device.name or "GPU" for device in facts.working_devices})
    return RankRecord(
        facts=facts,
        row=RankRow(
            rank=rank,
            path=facts.path,
            host=host if isinstance(host, str) else "",
            device=", ".join(devices) or "CPU",
            verdict=report.quality.verdict,
            steps=report.step_count,
            span_us=facts.span_us,
            busy_us=sum(row.busy_us for row in report.core.balance),
        ),
        findings=tuple(
            RankFinding(**{name: getattr(finding, name) for name in _OF_FINDINGS})
            for finding in report.rule_findings
        ),
        work=work,
        refusal=refusal,
        notes=tuple(n for n in report.quality.warnings if n.kind == "capture_skipped"),
    )


def metadata_of(trace: _core.Trace, key: str) -> Any:
    """Return a top-level member of a trace's file; None if it is missing or no JSON."""
    try:
        return json.loads(trace.metadata.get(key, "null"))
    except ValueError:
        return None


def _stage(distributed: Any, rank: int) -> int:
    """Return the rank's stage by the groups that it knows: its place in the pipeline's
    own; -1 if none is one."""
    groups = distributed.get("pg_config") if isinstance(distributed, dict) else None
    for group in groups if isinstance(groups, list) else []:
        if not isinstance(group, dict):
            continue
        ranks = group.get("ranks")
        words = str(group.get("pg_desc", "")).upper().replace("-", "_").split("_")
        if not isinstance(ranks, list) or len(ranks) < 2 or rank not in ranks:
            continue
        if any(word in _PIPELINE for word in words) and "EMBEDDING" not in words:
            return ranks.index(rank)
    return -1
