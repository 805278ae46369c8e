# SPDX-License-Identifier: BSD-3-Clause
"""html_table.py: the table that a notebook shows for a report."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from torchtraceap.safe_text import printable
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_COLUMNS = ("where", "what", "count", "wasted", "share", "in figures")
_SHOWN = 20


def findings_table(report: Report) -> str:
    """Return the findings as HTML without script or style; all text is escaped."""
    total_us = report.trace.device_time_us
    shown = report.findings[:_SHOWN]
    head = "".join(f"<th>{escape(name)}</th>" for name in _COLUMNS)
    body = "".join(_row(finding, total_us) for finding in shown)
    more = len(report.findings) - len(shown)
    return (
        f"<p>{_text(repr(report)[1:-1])}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (f"<p>and {more} more in <code>report.findings</code></p>" if more else "")
    )


def _row(finding: Finding, total_us: float) -> str:
    where = finding.location
    cells = (
        f"{where} {where.function}" if where else finding.operator,
        finding.kind,
        str(finding.count),
        ("up to " if finding.basis == "estimate" else "")
        + time_text(finding.wasted_us),
        share_text(finding.wasted_us, total_us),
        finding.message,
    )
    return "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"


def _text(text: str) -> str:
    return escape(printable(text))
