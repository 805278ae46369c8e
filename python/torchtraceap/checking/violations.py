# SPDX-License-Identifier: BSD-3-Clause
"""violations.py: what a trace breaks of a budget, in the words of a test's report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from torchtraceap.base.location import NAME_WIDTH, whole_place
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import time_text
from torchtraceap.checking.outcome import Outcome, Unknown
from torchtraceap.views.finding_text import wasted_text

if TYPE_CHECKING:
    from torchtraceap.checking.recording import Recording
    from torchtraceap.data.findings import Finding
    from torchtraceap.gate.budget_data import Violation
    from torchtraceap.report import Report

_NO_GPU = "without a GPU"
_DOUBT = {
    "unusable": "The trace is unusable",
    "degraded": "The trace is degraded, so what was found may be wrong or not all",
}


def mode_of(report: Report, recording: Recording | None) -> str:
    """Say, in a few words, what is checked: a stored trace or a recording."""
    verdict = report.quality.verdict
    degraded = "" if verdict == "ok" else f", {verdict}"
    if recording is None:
        return f"trace {printable(os.path.basename(report.trace.path))}{degraded}"
    return f"recorded {'on the GPU' if recording.on_gpu else _NO_GPU}{degraded}"


def of_violations(
    check: str,
    mode: str,
    violations: Sequence[Violation],
    report: Report,
    unknown: Unknown,
) -> Outcome:
    """Put what one check of a report came to into these words."""
    broken = [one for one in violations if one.known]
    untold = [one for one in violations if not one.known]
    status: Literal["passed", "failed", "unknown"] = "passed"
    headline = "nothing found"
    if first := broken or untold:
        status = "failed" if broken else "unknown"
        headline = first[0].message
        if more := len(first) - 1:
            headline += f"; and {more} more limit{'s' * (more > 1)}"
    findings = list({id(f): f for one in broken for f in one.findings}.values())
    return Outcome(
        check,
        mode,
        status,
        headline,
        places=tuple(_place(finding) for finding in findings),
        details=tuple(_details([*broken, *untold], findings)),
        notes=tuple(_notes(findings, report, mode)),
        evidence=tuple(_evidence(findings, report)),
        count=sum(finding.count for finding in findings),
        wasted_us=sum(f.wasted_us for f in findings) if findings else None,
        unknown=unknown,
    )


def _place(finding: Finding) -> str:
    place = whole_place(finding.location, finding.operator)
    return f"{place}  {finding.kind}  ×{finding.count}, {wasted_text(finding)}"


def _details(
    violations: Sequence[Violation], findings: Sequence[Finding]
) -> Iterator[str]:
    yield from (one.message for one in violations[1:])
    explained = set()
    for finding in findings:
        yield f"  {_place(finding)}"
        yield f"      {printable(finding.message)}"
        if finding.advice not in explained:
            explained.add(finding.advice)
            yield f"      instead: {printable(finding.advice)}"


def _notes(findings: Sequence[Finding], report: Report, mode: str) -> Iterator[str]:
    if doubt := _DOUBT.get(report.quality.verdict):
        reasons = " ".join(printable(note.detail) for note in report.quality.reasons)
        yield f"{doubt}: {reasons}"
    if _NO_GPU in mode:
        yield (
            "Recorded without a GPU: the times are those of the CPU's own work, and "
            "what a GPU would wait for may differ."
        )
    if findings and not any(finding.location for finding in findings):
        yield "No lines: the trace has no Python frames (with_stack=True)."


def _evidence(findings: Sequence[Finding], report: Report) -> Iterator[str]:
    for finding in findings:
        yield f"Evidence of {_place(finding)}:"
        for event in finding.events:
            start = time_text(event.start_us - report.trace.start_us)
            name = printable(event.name, 2 * NAME_WIDTH)
            yield f"  +{start}, {time_text(event.duration_us)}: {name}"
        yield f"  see {finding.docs}"
