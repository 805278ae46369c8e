# SPDX-License-Identifier: BSD-3-Clause
"""page.py: a report as one HTML file that needs nothing else.

The browser is told (Content-Security-Policy) to run our script and apply our style, by
their hashes, and to load nothing: should a name from a trace ever get out of its
quotes, it could still do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from torchtraceap import _core
from torchtraceap.base.location import place_text
from torchtraceap.report_data import ReportData
from torchtraceap.views import finding_text
from torchtraceap.views.heading import (
    fact_texts,
    kinds_text,
    said_notes,
    simulated_text,
)
from torchtraceap.views.html import colors
from torchtraceap.views.html.balance_bars import balance_bars
from torchtraceap.views.html.finding_cards import finding_cards
from torchtraceap.views.html.templates import asset, render
from torchtraceap.views.html.timeline_json import timeline_json
from torchtraceap.views.html.window_strip import Lane, window_strip
from torchtraceap.views.summary import detector_text
from torchtraceap.views.work_tables import window_table, work_tables

_MOST_ROWS = 100  # Of a table.


def page_html(report: ReportData) -> str:
    """Return the page; the same for the same report.

    Costs what the report's parts that were not asked for yet cost, and little more.
    """
    style, strip = _style(), window_strip(report)
    script = "".join(map(asset, ("slices.js", "timeline.js", "page.js")))
    raw = {
        "style": style,
        "script": script,
        "policy": "; ".join(
            (
                "default-src 'none'",
                f"script-src {_source(script)}",
                f"style-src {_source(style)}",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
        "timeline": timeline_json(report, strip),
    }
    return render("page.html", _values(report, strip), raw)


def _values(report: ReportData, strip: Sequence[Lane]) -> dict[str, Any]:
    bars = balance_bars(report)
    gain = report.recovery.together
    tables = [*work_tables(report), window_table(report)]
    return {
        "report": report,
        "version": _core.__version__,
        "name": report.trace.path.replace("\\", "/").rpartition("/")[2],
        "facts": fact_texts(report),
        "notes": said_notes(report),
        "bars": bars,
        "more_bars": len(report.balance) - len(bars),
        "left": [*finding_text.left_texts(report), *finding_text.stretch_texts(report)],
        "simulated": simulated_text(report.trace.simulated),
        "lost_us": sum(f.wasted_us for f in report.findings if f.basis != "estimate"),
        "estimated_us": sum(
            f.wasted_us for f in report.findings if f.basis == "estimate"
        ),
        "lanes": strip,
        "detector": detector_text(report.detection),
        "detector_ran": report.detection.run,
        "findings": finding_cards(report),
        "gain": finding_text.range_text(gain.low_us, gain.high_us) if gain else "",
        "why_none": finding_text.why_none(report),
        "order": finding_text.order_text(report),
        "replayed": [text for text in finding_text.replayed_texts(report) if text],
        "advice": finding_text.advice_of(report.findings),
        "no_lines": finding_text.NO_LINES,
        "paths": report.critical_paths,
        "kinds_text": kinds_text,
        "place_text": place_text,
        "tables": [table for table in tables if table.rows],
        "most_rows": _MOST_ROWS,
        "patterns": _patterns(report),
    }


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


def _style() -> str:
    light, dark = colors.variables("light"), colors.variables("dark")
    themed = [
        f":root{{{light}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}",
    ]
    parts = (*themed, colors.classes(), asset("parts.css"), asset("page.css"))
    return "\n".join(parts)


def _source(text: str) -> str:
    """Return what allows one inline script or style by its hash."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
