# SPDX-License-Identifier: BSD-3-Clause
"""markdown.py: a report in Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torchtraceap._core import Finding
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.finding_text import (
    advice_of,
    gain_range,
    wasted_share,
    wasted_text,
)
from torchtraceap.views.heading import device_text, simulated_text
from torchtraceap.views.summary import detector_text

HEAD = ("where", "what", "count", "wasted", "share", "recoverable")
_WIDTH = 120  # Of a name; together with the rows that are shown, far under 64 KiB.
_SHOWN = 20  # Findings of a report.
_DEVICES = 8
_MOST_BYTES = 60_000  # GitHub takes 65,536 characters in a comment.


def code(text: str, width: int = _WIDTH) -> str:
    """Return `text` as code on one line, also inside a table; "" for blank text."""
    text = printable(text, width)
    if not text.strip():
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", r"\|")


def plain(text: str) -> str:
    """Return a sentence of ours with its special characters escaped. Names from a
    trace go through `code`: elsewhere GitHub makes links and mentions of them."""
    return re.sub(r"([\\`*_\[\]<>|#~$!&@])", r"\\\1", printable(text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 2) -> str:
    """Return a table; the first ``texts`` columns are text, the others figures."""
    rule = [":--" if column < texts else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def reports_markdown(reports: Sequence[ReportData]) -> str:
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
    """Yield a row under `HEAD` for each finding."""
    for finding in findings:
        yield (
            code(str(finding.location or finding.operator)) or "(no source line)",
            code(finding.kind),
            f"{finding.count:,}",
            wasted_text(finding),
            wasted_share(finding, whole_us),
            gain_range(finding) or "-",
        )


def _parts(report: ReportData) -> Iterator[str]:
    trace = report.trace
    steps = f", {counted(len(report.steps), 'step')}" if report.steps else ""
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
        if more := len(busy) - len(busy[:_DEVICES]):
            busy[_DEVICES:] = [f"and {counted(more, 'more device')}"]
        yield "; ".join(busy) + "."
    shown = report.findings[:_SHOWN]
    if shown:
        yield table(HEAD, findings_rows(shown, trace.device_time_us))
    else:
        yield "No findings." if report.balance else "This trace cannot be analyzed."
    if more_findings := len(report.findings) - len(shown):
        yield f"and {more_findings} more"
    if text := detector_text(report.detection):
        yield plain(text)
    if advice := advice_of(shown):
        lines = "\n".join(f"- {code(name)}: {plain(text)}" for name, text in advice)
        yield f"<details><summary>What helps</summary>\n\n{lines}\n\n</details>"
