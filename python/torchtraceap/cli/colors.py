# SPDX-License-Identifier: BSD-3-Clause
"""colors.py: a summary for a terminal that shows colors; elsewhere it stays as it is.

Two things are marked: where a part begins, in bold, and how much a finding matters, in
red (high) and yellow (medium). Nothing is said by color alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_BY_SEVERITY = {"high": "red", "medium": "yellow"}
_BY_VERDICT = {"unusable": "red", "degraded": "yellow"}
# How a part begins: "Device 0:". Names of the trace stand further right.
_HEADING = re.compile(r"[A-Z][A-Za-z0-9 -]{0,40}:(?= )|[A-Z].*:$")


def in_color(summary: str, report: Report) -> str:
    """Return a report's summary, colored if standard output shows that.

    NO_COLOR, FORCE_COLOR and TERM=dumb are heeded.
    """
    from termcolor import can_colorize

    if not can_colorize():
        return summary
    return "\n".join(_lines(summary, report))


def _lines(summary: str, report: Report) -> Iterator[str]:
    from termcolor import colored

    rows: Iterator[Finding] = iter(())
    for number, line in enumerate(summary.split("\n")):
        heading = _HEADING.match(line)
        if line.startswith("  1. "):  # The first ones again, in words.
            rows = iter(())
        finding = next(rows, None) if line.startswith("  ") else None
        if not line.startswith("  "):  # Their rows follow the heading and end there.
            rows = iter(report.findings if line.startswith("Findings, ") else ())
        if number == 0:
            yield colored(line, attrs=["bold"])
        elif line.startswith("Quality: "):
            yield colored(line, _BY_VERDICT[report.quality.verdict], attrs=["bold"])
        elif heading:
            at = heading.end()
            yield colored(line[:at], attrs=["bold"]) + line[at:]
        elif finding is not None and (color := _BY_SEVERITY.get(finding.severity)):
            # The place before it may hold any text, what follows none of the trace.
            place, kind, rest = line.rpartition(finding.kind)
            yield place + colored(kind, color) + rest
        else:
            yield line
