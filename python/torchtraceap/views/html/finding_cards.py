# SPDX-License-Identifier: BSD-3-Clause
"""finding_cards.py: findings as notebook and page show them, with their code.

As it is shown, only files of the user's projects are read. A folder that holds more
than one project, such as the home folder or all above it, counts for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from torchtraceap._core import Finding
from torchtraceap.base.program_files import SourceLine, code_excerpt
from torchtraceap.report_data import ReportData
from torchtraceap.views.finding_text import (
    gain_range,
    place_of,
    wasted_share,
    wasted_text,
)
from torchtraceap.views.html.colors import family
from torchtraceap.views.opinion_text import opinion_texts, rank_text
from torchtraceap.views.stretches import ranges_text

_MOST_RANGES = 12


class Card(NamedTuple):
    """A finding with what is written around it."""

    finding: Finding
    number: int  # Among the report's findings.
    place: str
    color: str
    wasted: str
    share: str  # Of the time.
    gain: str  # "" if not known.
    windows: str  # Their numbers.
    code: tuple[SourceLine, ...]  # Empty: not the user's, or not at hand.
    rank: str  # What a second opinion says of it, and where it was; "" without one.
    opinion: list[str]  # The same in paragraphs.

    @property
    def line(self) -> tuple[SourceLine, ...]:
        """The line of code alone, without its indentation."""
        return tuple(x._replace(text=x.text.strip()) for x in self.code if x.here)


def finding_cards(report: ReportData, most: int | None = None) -> list[Card]:
    """Return the first findings, or all."""
    return [
        Card(
            finding,
            row.was,
            place_of(finding, report),
            family(finding.pattern),
            wasted_text(finding),
            wasted_share(finding, report.trace.device_time_us),
            gain_range(finding),
            ranges_text(finding.windows, _MOST_RANGES),
            _code(finding),
            rank_text(row, place),
            opinion_texts(row.opinion) if row.opinion else [],
        )
        for place, row in enumerate(report.ranking[:most])
        for finding in [row.finding]
    ]


def _code(finding: Finding) -> tuple[SourceLine, ...]:
    where = finding.location
    if where is None or not where.user:
        return ()  # Code of libraries is nobody's to change.
    line = where.nearest_line
    return () if line is None else tuple(code_excerpt(where.file, line))
