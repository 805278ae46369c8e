# SPDX-License-Identifier: BSD-3-Clause
"""notebook.py: what a notebook shows for a report: HTML and SVG without script."""

from __future__ import annotations

from torchtraceap.report_data import ReportData
from torchtraceap.views.finding_text import why_none
from torchtraceap.views.heading import fact_texts, simulated_text
from torchtraceap.views.html import colors
from torchtraceap.views.html.balance_bars import balance_bars
from torchtraceap.views.html.finding_cards import finding_cards
from torchtraceap.views.html.templates import asset, render
from torchtraceap.views.html.window_strip import window_strip
from torchtraceap.views.summary import detector_text

_MOST_FINDINGS = 20
_LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]')
_DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')


def notebook_html(report: ReportData) -> str:
    """Return the display; a notebook that strips styles still shows table and text."""
    bars = balance_bars(report)
    values = {
        "report": report,
        "facts": fact_texts(report),
        "simulated": simulated_text(report.trace.simulated),
        "bars": bars,
        "more_bars": len(report.balance) - len(bars),
        "lanes": window_strip(report),
        "detector": detector_text(report.detection),
        "findings": finding_cards(report, _MOST_FINDINGS),
        "more_findings": max(0, len(report.findings) - _MOST_FINDINGS),
        "why_none": why_none(report),
    }
    return render("notebook.html", values, {"style": _style()})


def _style() -> str:
    """Return the style: themed by the notebook if it says how, else by the system."""
    light, dark = colors.variables("light"), colors.variables("dark")
    themed = [
        f".torchtraceap{{{light}}}",
        f"@media (prefers-color-scheme:dark){{.torchtraceap{{{dark}}}}}",
        *(f"{where} .torchtraceap{{{light}}}" for where in _LIGHT),
        *(f"{where} .torchtraceap{{{dark}}}" for where in _DARK),
    ]
    return "\n".join([*themed, colors.classes(), asset("parts.css")])
