# SPDX-License-Identifier: BSD-3-Clause
"""summary.py: a report as plain text: the trace, its findings, its windows."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence

from torchtraceap._core import Finding
from torchtraceap.base.location import NAME_WIDTH
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import (
    Line,
    align,
    headed,
    joined,
    marked,
    parts_of,
    wrapped,
)
from torchtraceap.base.units import counted, time_text
from torchtraceap.detection.detection import Detection
from torchtraceap.report_data import ReportData
from torchtraceap.views.cells import table_lines
from torchtraceap.views.finding_text import (
    NO_LINES,
    advice_of,
    gain_text,
    left_texts,
    lost_us,
    order_text,
    place_of,
    replayed_texts,
    stretch_texts,
    wasted_share,
    wasted_text,
    why_none,
)
from torchtraceap.views.heading import heading_lines, path_line
from torchtraceap.views.memory_text import memory_lines
from torchtraceap.views.opinion_text import rank_text, ranked_by
from torchtraceap.views.stretches import window_table

_TOLD = 3  # findings in words: the ones to look into first


def summary_lines(report: ReportData, windows: int, findings: int = 10) -> list[str]:
    """Return the lines, with at most that number of windows and findings listed."""
    return joined(
        (
            heading_lines(report),
            _findings(report, findings),
            memory_lines(report),
            [part for line in _outcomes(report) for part in wrapped(line, "  ")],
            wrapped(_detector_line(report), "  "),
            table_lines(window_table(report), windows) if windows else [],
            _advice(report, findings),
        )
    )


def _findings(report: ReportData, limit: int) -> Iterator[str]:
    total_us = report.trace.device_time_us
    incomplete = report.quality.incomplete
    if report.findings:
        bound = " (upper bounds: device records are missing)" if incomplete else ""
        by = f", {ranked_by(report)}" if report.opinions else ""
        yield marked(f"Findings, {order_text(report)} first{by}{bound}:", "heading")
        ranking = report.ranking
        rows = [
            (
                place_of(row.finding, report),
                marked(row.finding.kind, row.finding.severity),
                f"×{row.finding.count}",
                wasted_text(row.finding),
                wasted_share(row.finding, total_us),
                gain_text(row.finding, report),
                rank_text(row, place),
            )
            for place, row in enumerate(ranking[:limit])
        ]
        yield from align(rows, right=(2, 3, 4), indent="  ")
        listed = [row.finding for row in ranking]
        if rest := listed[limit:]:
            yield f"  and {', '.join([f'{len(rest)} more', *_together(rest)])}"
        for number, finding in enumerate(listed[: min(limit, _TOLD)], 1):
            told = f"{number}. {finding.kind}: {printable(finding.message)}"
            yield from wrapped(told, "     ", first="  ")
        for line in replayed_texts(report):
            yield from wrapped(line, "  ")
        if not report.recovery.refusal:
            (whole,) = report.first_critical_paths(0)
            yield from wrapped(path_line(whole), "  ")
    else:
        yield headed("Findings", why_none(report))
    yield from left_texts(report)
    if report.balance:
        yield from (f"  {text}" for text in stretch_texts(report))
    if report.findings and not any(f.location for f in report.findings):
        yield from wrapped(NO_LINES, "  ")


def _together(findings: Sequence[Finding]) -> list[str]:
    """Write the cost of findings, estimated time separately, and how many have none."""
    exact, estimated = lost_us(findings)
    parts = []
    if exact:
        parts.append(f"{time_text(exact)} together")
    if estimated:
        parts.append(f"up to {time_text(estimated)} estimated")
    if pointing := sum(finding.basis == "model" for finding in findings):
        parts.append(f"{pointing} of them unexplained")
    return parts


def _advice(report: ReportData, limit: int) -> Iterator[str]:
    advice = advice_of([row.finding for row in report.ranking[:limit]])
    if advice:
        yield marked("What helps:", "heading")
    for pattern, text in advice:
        yield from wrapped(f"{pattern}: {text}", "    ", first="  ")


# The report of this process whose summary says that there is no detector.
_told: list[weakref.ref[ReportData]] = []


def _detector_line(report: ReportData) -> str:
    """Return the lines on the detector; "" if there are none.

    A missing detector is mentioned for one report per process: repeating it in a
    hundred summaries adds nothing.
    """
    detection = report.detection
    if detection.status == "missing":
        if not _told:
            _told.append(weakref.ref(report))
        if _told[0]() is not report:
            return ""
    text = detector_text(detection)
    if not detection.run:
        return text
    return Line(*parts_of(text), (f" {_cost(detection)}", ""))


def detector_text(detection: Detection) -> str:
    """Summarize the detector, the same for the same windows; "" if it is off."""
    if detection.status == "off":
        return ""
    if not detection.run:
        return headed("Detector not run", f"{printable(detection.why or '', 400)}.")
    name = printable(detection.name or "", NAME_WIDTH)
    if detection.why:
        text = f"follows the rules in all windows, because {detection.why}."
        return headed(f"Detector ({name})", text)
    counts = detection.counts
    text = (
        f"{counts.flagged:,} of {len(detection.flagged):,} windows flagged, "
        f"{counts.with_rules:,} also by rules, "
        f"{counts.flagged - counts.with_rules:,} only by it; "
        f"{counts.rules_alone:,} more only by rules."
    )
    if counts.abstained:
        text += (
            f" In {counts.abstained:,} it follows the rules: they are unlike its "
            "training data."
        )
    return headed(f"Detector ({name})", text)


def _cost(detection: Detection) -> str:
    whole = detection.load_seconds + detection.score_seconds
    text = f"It took {time_text(whole * 1e6)}"
    if detection.load_seconds >= 0.05:
        loading = time_text(detection.load_seconds * 1e6)
        text += f", {loading} of it to load torch and the weights"
    return text + "."


def _outcomes(report: ReportData) -> Iterator[str]:
    """Yield changed settings and the outcome of own rules; often nothing."""
    changes = [
        f"{pattern} off" if name == "enabled" else f"{pattern}.{name} = {value:g}"
        for pattern, names in report.settings.items()
        for name, value in names.items()
    ]
    if changes:
        yield headed("Settings that differ from the defaults", ", ".join(changes))
    for own in report.rules:
        text = (
            f"{counted(own.claims, 'claim')} on "
            f"{time_text(own.asked_us)}, {time_text(own.claimed_us)} of it lost"
        )
        if own.taken_us:
            text += f", {time_text(own.taken_us)} of it other patterns'"
        if own.claims and not own.counted:
            text += "; too little to count"
        yield headed(f"Rule {own.rule}", f"{text}.")
