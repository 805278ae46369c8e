# SPDX-License-Identifier: BSD-3-Clause
"""finding_cards.py: findings as notebook and page show them, with their code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchtraceap.finding_text import place_of, wasted_text
from torchtraceap.html.code_excerpt import SourceLine, code_excerpt
from torchtraceap.html.colors import family
from torchtraceap.units import time_text

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report


class Card(NamedTuple):
    """A finding with what is written around it."""

    finding: Finding
    place: str
    color: str
    wasted: str
    gain: str  # "" if not known.
    code: tuple[SourceLine, ...]  # Empty: the file is not at hand.

    @property
    def line(self) -> tuple[SourceLine, ...]:
        """The line of code alone, without its indentation."""
        return tuple(x._replace(text=x.text.strip()) for x in self.code if x.here)


def finding_cards(report: Report, most: int | None = None) -> list[Card]:
    """Return the first findings, or all."""
    return [
        Card(
            finding,
            place_of(finding, report),
            family(finding.pattern),
            wasted_text(finding),
            range_text(finding.recoverable_low_us, finding.recoverable_us),
            _code(finding),
        )
        for finding in report.findings[:most]
    ]


def range_text(low_us: float | None, high_us: float | None) -> str:
    """Write the time that fixes gain as the range that it is; "" if it is not known."""
    if high_us is None:
        return ""
    if low_us:
        return f"{time_text(low_us)} to {time_text(high_us)}"
    return f"{'up to ' if high_us else ''}{time_text(high_us)}"


def _code(finding: Finding) -> tuple[SourceLine, ...]:
    where = finding.location
    return tuple(code_excerpt(where.file, where.line)) if where else ()
