# SPDX-License-Identifier: BSD-3-Clause
"""page.py: a report as one HTML file that needs nothing else, and in a notebook.

Of the code at findings, as it is shown, only files of the user's projects are read. A
folder that holds more than one project, such as the home folder or all above it, counts
for nothing.
"""

from __future__ import annotations

from typing import Any

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.base.location import place_text
from torchtraceap.base.program_files import SourceLine, code_excerpt
from torchtraceap.report_data import ReportData
from torchtraceap.views import answer_text, finding_text
from torchtraceap.views.heading import (
    fact_texts,
    kinds_text,
    said_notes,
    simulated_text,
)
from torchtraceap.views.html.balance_bars import balance_bars
from torchtraceap.views.html.document import document, notebook
from torchtraceap.views.html.memory_strip import memory_strip
from torchtraceap.views.html.roofline_plot import HEIGHT, WIDTH, roofline_plots
from torchtraceap.views.html.timeline_json import timeline_json
from torchtraceap.views.html.window_strip import window_strip
from torchtraceap.views.opinion_text import opinion_texts, rank_text, ranked_by
from torchtraceap.views.perfetto_link import perfetto_link
from torchtraceap.views.stretches import ranges_text, window_table
from torchtraceap.views.summary import detector_text
from torchtraceap.views.work_tables import work_tables

SCRIPTS = ("slices.js", "time_view.js", "timeline.js", "viewer.js", "page.js")
_IN_NOTEBOOK = 20  # Findings.


def page_html(report: ReportData) -> str:
    """Return the page; the same for the same report.

    Costs what the report's parts that were not asked for yet cost, and little more.
    """
    values = _values(report) | _page_values(report)
    timeline = timeline_json(report, values["lanes"])
    return document("page.html", values, SCRIPTS, timeline)


def notebook_html(report: ReportData) -> str:
    """Return what a notebook shows for a report."""
    values = {
        "findings": report.ranking[:_IN_NOTEBOOK],
        "line_of": _line_of,
        "more_findings": max(0, len(report.findings) - _IN_NOTEBOOK),
    }
    return notebook("notebook.html", _values(report) | values)


def _values(report: ReportData) -> dict[str, Any]:
    """Return what page and notebook show alike."""
    bars = balance_bars(report)
    return {
        "report": report,
        "facts": fact_texts(report),
        "simulated": simulated_text(report.trace.simulated),
        "verdict": list(answer_text.verdict_texts(report)),
        "answer": answer_text,
        "bars": bars,
        "more_bars": len(report.balance) - len(bars),
        "lanes": window_strip(report),
        "detector": detector_text(report.detection),
        "why_none": finding_text.why_none(report),
        "place_of": finding_text.place_of,
        "wasted_text": finding_text.wasted_text,
        "wasted_share": finding_text.wasted_share,
        "gain_range": finding_text.gain_range,
    }


def _page_values(report: ReportData) -> dict[str, Any]:
    tables = [*work_tables(report), window_table(report)]
    return {
        "memory": memory_strip(report),
        "name": report.trace.path.replace("\\", "/").rpartition("/")[2],
        "notes": said_notes(report),
        "left": [*finding_text.left_texts(report), *finding_text.stretch_texts(report)],
        "detector_ran": report.detection.run,
        "findings": report.ranking,
        "code_of": code_of,
        "ranges_text": ranges_text,
        "rank_text": rank_text,
        "opinion_texts": opinion_texts,
        "perfetto_link": perfetto_link,
        "together": answer_text.together_text(report),
        "gain": report.recovery.together,
        "range_of": finding_text.range_of,
        "order": finding_text.order_text(report),
        "ranked_by": ranked_by(report),
        "replayed": [text for text in finding_text.replayed_texts(report) if text],
        "no_lines": finding_text.NO_LINES,
        "paths": report.critical_paths,
        "kinds_text": kinds_text,
        "place_text": place_text,
        "plots": roofline_plots(report),
        "plot_size": (WIDTH, HEIGHT),
        "tables": [table for table in tables if table.rows],
        "patterns": _patterns(report),
    }


def code_of(finding: Finding) -> tuple[SourceLine, ...]:
    """Return the lines around a finding; none that are not the user's or not there."""
    where = finding.location
    if where is None or not where.user:
        return ()  # Code of libraries is not the user's to change.
    line = where.nearest_line
    return () if line is None else tuple(code_excerpt(where.file, line))


def _line_of(finding: Finding) -> list[SourceLine]:
    """Return the line of code alone, without its indentation."""
    return [x._replace(text=x.text.strip()) for x in code_of(finding) if x.here]


def _patterns(
    report: ReportData,
) -> list[tuple[_core.PatternInfo, list[_core.Threshold]]]:
    """Return what is known of the patterns that were found."""
    found = {finding.pattern for finding in report.findings}
    thresholds = _core.thresholds()
    return [
        (pattern, [row for row in thresholds if row.pattern == pattern.name])
        for pattern in _core.patterns()
        if pattern.name in found
    ]
