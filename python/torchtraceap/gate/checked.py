# SPDX-License-Identifier: BSD-3-Clause
"""checked.py: what became of each limit for one trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap.gate.judge import judge
from torchtraceap.json_form import location_form

if TYPE_CHECKING:
    from torchtraceap.budget import Budget, Violation
    from torchtraceap.comparison import Comparison
    from torchtraceap.report import Report


@dataclass(frozen=True)
class Line:
    """A limit, and what breaks it; or what cannot be told of it."""

    limit: str
    allowed: float | str
    violations: tuple[Violation, ...]
    passes: bool  # Also where `violations` are unknown, and the budget lets them pass.

    @property
    def title(self) -> str:
        """The limit as a budget has it: ``min_busy = 0.6``."""
        allowed = self.allowed
        value = repr(allowed) if isinstance(allowed, str) else f"{allowed:g}"
        return f"{self.limit} = {value}"


@dataclass(frozen=True)
class Checked:
    """A report, held against a budget and, if there is one, a baseline."""

    report: Report
    lines: tuple[Line, ...]
    comparison: Comparison | None = None

    @property
    def broken(self) -> tuple[Line, ...]:
        """The lines that do not pass."""
        return tuple(line for line in self.lines if not line.passes)

    def to_dict(self) -> dict[str, Any]:
        """Return the form of JSON, as docs/ci.md describes it."""
        return {
            "trace": self.report.trace.path,
            "passes": not self.broken,
            "simulated": self.report.trace.simulated is not None,
            "limits": [
                {
                    "limit": line.limit,
                    "allowed": line.allowed,
                    "passes": line.passes,
                    "violations": [_violation_form(v) for v in line.violations],
                }
                for line in self.lines
            ],
            "comparison": self.comparison and self.comparison.to_dict(),
        }


def check_report(
    report: Report, budget: Budget, comparison: Comparison | None = None
) -> Checked:
    """Hold a report against a budget, and a comparison with a baseline against none
    of its findings being new or grown and its steps no slower."""
    found = tuple(judge(budget, report))
    lines = [
        _line(limit, allowed, found, budget.unknown == "pass")
        for limit, allowed in budget.lines()
    ]
    if comparison is not None:
        from torchtraceap.gate.regressions import REGRESSIONS, regressions

        worse = tuple(regressions(comparison, report))
        lines += [
            _line(f"baseline.{kind}", "none", worse, budget.unknown == "pass")
            for kind in REGRESSIONS
        ]
    return Checked(report, tuple(lines), comparison)


def _line(
    limit: str,
    allowed: float | str,
    violations: Sequence[Violation],
    unknown_passes: bool,
) -> Line:
    own = tuple(v for v in violations if v.limit == limit)
    passes = all(unknown_passes and not v.known for v in own)
    return Line(limit, allowed, own, passes)


def _violation_form(violation: Violation) -> dict[str, Any]:
    return {
        "known": violation.known,
        "found": violation.found,
        "message": violation.message,
        "location": location_form(violation.location),
        "findings": [finding.id for finding in violation.findings],
    }
