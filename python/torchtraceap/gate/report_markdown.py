# SPDX-License-Identifier: BSD-3-Clause
"""report_markdown.py: a report as Markdown, for a pull request or a job's summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.detection.detector_text import detector_text
from torchtraceap.devices import device_text
from torchtraceap.finding_text import wasted_share, wasted_text
from torchtraceap.gain_text import gain_range
from torchtraceap.gate.markdown_text import code, plain, table
from torchtraceap.heading import simulated_text
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_SHOWN = 20  # Findings of a report.
_MOST_BYTES = 60_000  # GitHub takes 65,536 characters in a comment.


def reports_markdown(reports: Sequence[Report]) -> str:
    """Return reports as one Markdown text under 64 KiB; those that do not fit are
    counted."""
    return joined(["\n\n".join(_parts(report)) for report in reports], "traces")


def joined(texts: Sequence[str], what: str) -> str:
    """Return as many of the texts as fit, and a line that counts the rest."""
    shown: list[str] = []
    size = 0
    for text in texts:
        size += len(text.encode("utf-8", "replace")) + 2
        if size > _MOST_BYTES:
            shown.append(f"and {len(texts) - len(shown)} more {what}")
            break
        shown.append(text)
    return "\n\n".join(shown)


def findings_rows(
    findings: Sequence[Finding], whole_us: float
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each finding: where, what, count, wasted, share, recoverable."""
    for finding in findings:
        yield (
            code(str(finding.location or finding.operator)) or "(no source line)",
            code(finding.kind),
            f"{finding.count:,}",
            wasted_text(finding),
            wasted_share(finding, whole_us),
            gain_range(finding) or "-",
        )


HEAD = ("where", "what", "count", "wasted", "share", "recoverable")


def _parts(report: Report) -> Iterator[str]:
    trace = report.trace
    count = len(report.steps)
    steps = f", {count} step{'s' * (count > 1)}" if count else ""
    yield f"### {code(trace.path)}"
    if assumed := simulated_text(trace.simulated):
        yield f"**{plain(assumed)}**"
    yield f"{trace.events:,} events, {time_text(trace.span_us)}{steps}"
    if report.quality.verdict != "ok":
        yield f"**Quality: {report.quality.verdict}.** " + " ".join(
            code(note.detail, 400) for note in report.quality.reasons[:5]
        )
    busy = [
        f"Device {plain(device_text(row, report))}: busy "
        f"{share_text(row.busy_us, row.span_us)} of {time_text(row.span_us)}"
        for row in report.balance
        if row.device is not None
    ]
    if busy:
        more = f"; and {len(busy) - 8} more devices" if len(busy) > 8 else ""
        yield "; ".join(busy[:8]) + more + "."
    shown = report.findings[:_SHOWN]
    if shown:
        yield table(HEAD, findings_rows(shown, trace.device_time_us))
    else:
        yield "No findings." if report.balance else "Nothing can be said of this trace."
    if more_findings := len(report.findings) - len(shown):
        yield f"and {more_findings} more"
    if text := detector_text(report.detection):
        yield plain(text)
    advice = dict.fromkeys((f.pattern, f.advice) for f in shown)
    if advice:
        lines = "\n".join(f"- {code(name)}: {plain(text)}" for name, text in advice)
        yield f"<details><summary>What helps</summary>\n\n{lines}\n\n</details>"
