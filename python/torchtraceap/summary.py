# SPDX-License-Identifier: BSD-3-Clause
"""summary.py: the report as plain text: what the trace is, where its time went, what
to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.detection.detector_text import summary_text
from torchtraceap.finding_text import (
    NO_LINES,
    advice_of,
    left_texts,
    message_text,
    place_of,
    stretch_texts,
    wasted_share,
    wasted_text,
    why_none,
)
from torchtraceap.gain_text import gain_text, order_text, replayed_texts
from torchtraceap.heading import heading_lines
from torchtraceap.path_text import path_line
from torchtraceap.recovery import read_path
from torchtraceap.rule_outcomes import outcome_lines
from torchtraceap.text_table import align, wrapped
from torchtraceap.units import time_text
from torchtraceap.window_table import window_lines

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_TOLD = 3  # findings in words: what anyone would look into first


def write_summary(report: Report, windows: int, findings: int) -> str:
    """Return the text, with at most so many windows and findings listed."""
    blocks = [
        list(heading_lines(report)),
        list(_findings(report, findings)),
        [part for line in outcome_lines(report) for part in wrapped(line, "  ")],
        wrapped(summary_text(report), "  "),
        list(window_lines(report, windows)),
        list(_advice(report, findings)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _findings(report: Report, limit: int) -> Iterator[str]:
    total_us = report.trace.device_time_us
    incomplete = report.quality.incomplete
    if report.findings:
        bound = " (upper bounds: device records are missing)" if incomplete else ""
        yield f"Findings, {order_text(report)} first{bound}:"
        rows = [
            (
                place_of(finding, report),
                finding.kind,
                f"×{finding.count}",
                wasted_text(finding),
                wasted_share(finding, total_us),
                gain_text(finding, report),
            )
            for finding in report.findings[:limit]
        ]
        for line in align(rows, right=(2, 3, 4)):
            yield f"  {line.rstrip()}"
        if rest := report.findings[limit:]:
            yield f"  and {', '.join([f'{len(rest)} more', *_together(rest)])}"
        for number, finding in enumerate(report.findings[: min(limit, _TOLD)], 1):
            told = f"{number}. {finding.kind}: {message_text(finding)}"
            yield from wrapped(told, "     ", first="  ")
        for line in replayed_texts(report):
            yield from wrapped(line, "  ")
        if not report.recovery.refusal:
            whole = report.core_replay[0].critical_paths(steps=0)[0]
            yield from wrapped(path_line(read_path(whole)), "  ")
    else:
        yield f"Findings: {why_none(report)}"
    yield from left_texts(report)
    if report.balance:
        yield from (f"  {text}" for text in stretch_texts(report))
    if report.findings and not any(f.location for f in report.findings):
        yield from wrapped(NO_LINES, "  ")


def _together(findings: Sequence[Finding]) -> list[str]:
    """Write what findings cost, estimated time by itself; and how many point only."""
    estimates = {True: 0.0, False: 0.0}
    for finding in findings:
        estimates[finding.basis == "estimate"] += finding.wasted_us
    parts = []
    if estimates[False]:
        parts.append(f"{time_text(estimates[False])} together")
    if estimates[True]:
        parts.append(f"up to {time_text(estimates[True])} by estimate")
    if pointing := sum(finding.basis == "model" for finding in findings):
        parts.append(f"{pointing} of them unexplained, look there")
    return parts


def _advice(report: Report, limit: int) -> Iterator[str]:
    advice = advice_of(report.findings[:limit])
    if advice:
        yield "What helps:"
    for pattern, text in advice:
        yield from wrapped(f"{pattern}: {text}", "    ", first="  ")
