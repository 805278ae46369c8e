# SPDX-License-Identifier: BSD-3-Clause
"""regressions.py: what got worse since a baseline, as violations of a budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.budget import Violation
from torchtraceap.gate.worse import WORSE as REGRESSIONS
from torchtraceap.gate.worse import find_worse

if TYPE_CHECKING:
    from torchtraceap.comparison import Comparison
    from torchtraceap.report import Report

__all__ = ["REGRESSIONS", "regressions"]


def regressions(comparison: Comparison, report: Report) -> Iterator[Violation]:
    """Yield what got worse in a report, which is the comparison's `after`."""
    findings = {finding.id: finding for finding in report.rule_findings}
    for worse in find_worse(comparison, REGRESSIONS):
        seen = worse.finding and worse.finding.after
        finding = findings.get(seen.id) if seen else None
        yield Violation(
            f"baseline.{worse.kind}",
            "none",
            worse.found,
            worse.message,
            finding,
            finding.location if finding else None,
            worse.known,
            (finding,) if finding else (),
        )
