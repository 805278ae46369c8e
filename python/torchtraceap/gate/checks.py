# SPDX-License-Identifier: BSD-3-Clause
"""checks.py: what became of each limit, and the forms it is written in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import wrapped
from torchtraceap.base.units import share_text, time_text
from torchtraceap.gate.budget_data import Violation
from torchtraceap.gate.changes import comparison_form
from torchtraceap.gate.compare_text import WORSE as REGRESSIONS
from torchtraceap.gate.compare_text import comparison_markdown, find_worse
from torchtraceap.gate.judge import judge
from torchtraceap.gate.occurrences import place_of
from torchtraceap.views.heading import simulated_text
from torchtraceap.views.json_form import location_form
from torchtraceap.views.markdown import HEAD, code, findings_rows, joined, plain, table
from torchtraceap.views.sarif import sarif_log, sarif_run

if TYPE_CHECKING:
    from torchtraceap.data.findings import Finding
    from torchtraceap.gate.budget_data import BudgetData, Violation
    from torchtraceap.gate.changes import ComparisonData
    from torchtraceap.report_data import ReportData

__all__ = ["REGRESSIONS", "regressions"]


def regressions(comparison: ComparisonData, report: ReportData) -> Iterator[Violation]:
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

    report: ReportData
    lines: tuple[Line, ...]
    comparison: ComparisonData | None = None

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
            "comparison": self.comparison and comparison_form(self.comparison),
        }


def check_report(
    report: ReportData, budget: BudgetData, comparison: ComparisonData | None = None
) -> Checked:
    """Hold a report against a budget, and a comparison with a baseline against none
    of its findings being new or grown and its steps no slower."""
    found = tuple(judge(budget, report))
    lines = [
        _line(limit, allowed, found, budget.unknown == "pass")
        for limit, allowed in budget.lines()
    ]
    if comparison is not None:
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


def check_sarif(checks: Sequence[Checked], root: str | None = None) -> dict[str, Any]:
    """Return checks as a SARIF log: the findings that break a limit are its results,
    what each broken limit says is a notification of its run."""
    runs = []
    for checked in checks:
        said = [v for line in checked.broken for v in line.violations]
        findings = {f.id: f for violation in said for f in violation.findings}
        notes = [violation.message for violation in said]
        runs.append(sarif_run(checked.report, findings.values(), notes, root))
    return sarif_log(runs)


_PLACES = 5  # Of one limit, on a terminal.
_ROWS = 20  # Of one trace, in Markdown.


def check_text(checked: Checked) -> str:
    """Return what a check of one trace says, the broken limits with their places."""
    return "\n".join(_text(checked))


def check_markdown(checks: Sequence[Checked]) -> str:
    """Return checks as one Markdown text under 64 KiB."""
    broken = [checked for checked in checks if checked.broken]
    title = (
        f"## torchtraceap: {len(broken)} of {_traces(len(checks))} over budget"
        if broken
        else f"## torchtraceap: {_traces(len(checks))} within budget"
    )
    # Those that fail first: what does not fit is left out at the end.
    order = sorted(checks, key=lambda checked: not checked.broken)
    texts = ["\n\n".join(_one_markdown(checked)) for checked in order]
    return title + "\n\n" + joined(texts, "traces")


def verdict(checked: Checked) -> str:
    """Return how a check ended, in a few words."""
    whole = len(checked.lines)
    if not checked.broken:
        untold = sum(bool(line.violations) for line in checked.lines)
        but = f"; {untold} cannot be told and may pass" if untold else ""
        return f"within budget ({whole} limit{'' if whole == 1 else 's'}{but})"
    known = sum(any(v.known for v in line.violations) for line in checked.broken)
    untold = len(checked.broken) - known
    parts = [f"{known} of {whole} limits broken"] if known else []
    parts += [f"{untold} of {whole} cannot be told"] if untold else []
    return f"{'over budget' if known else 'not known to be within budget'}: " + (
        ", ".join(parts)
    )


def _text(checked: Checked) -> Iterator[str]:
    yield f"{printable(checked.report.trace.path)}: {verdict(checked)}"
    yield from wrapped(simulated_text(checked.report.trace.simulated), "  ")
    untold: dict[str, list[str]] = {}
    for line in checked.lines:
        for violation in line.violations:
            if violation.why:
                untold.setdefault(violation.why, []).append(line.limit)
                continue
            yield from wrapped(violation.message, "    ", first="  ")
            if len(violation.findings) > 1:
                yield from _places(violation.findings, checked.report)
    for why, limits in untold.items():
        names = ", ".join(dict.fromkeys(limits))
        yield from wrapped(f"cannot be told: {names}: {why}", "    ", first="  ")


def _places(findings: Sequence[Finding], report: ReportData) -> Iterator[str]:
    whole_us = report.trace.device_time_us
    for finding in findings[:_PLACES]:
        yield (
            f"      {place_of(finding)}: {finding.kind} ×{finding.count}, "
            f"{time_text(finding.wasted_us)} "
            f"({share_text(finding.wasted_us, whole_us)})"
        )
    if rest := len(findings) - _PLACES:
        yield from [f"      and {rest} more"] if rest > 0 else []


def _one_markdown(checked: Checked) -> Iterator[str]:
    sign = "❌" if checked.broken else "✅"
    yield f"### {sign} {code(checked.report.trace.path)}: {verdict(checked)}"
    if assumed := simulated_text(checked.report.trace.simulated):
        yield f"**{plain(assumed)}**"
    told = [line for line in checked.lines if line.violations]
    if told:
        yield table(("limit", "", "what"), _limit_rows(told), 3)
    findings = {
        finding.id: finding
        for line in checked.broken
        for violation in line.violations
        for finding in violation.findings
    }
    if findings:
        worst = sorted(findings.values(), key=lambda f: -f.wasted_us)[:_ROWS]
        rows = findings_rows(worst, checked.report.trace.device_time_us)
        yield table(HEAD, rows)
        if more := len(findings) - len(worst):
            yield f"and {more} more"
    if checked.comparison is not None:
        yield comparison_markdown(checked.comparison)


def _limit_rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    for line in lines[:_ROWS]:
        said = line.violations
        sign = "➖" if line.passes else "❌"
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        yield code(line.title), sign, code(said[0].message, 400) + more
    if len(lines) > _ROWS:
        yield f"and {len(lines) - _ROWS} more", "", ""


def _traces(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class CheckForm:
    """A form of the checks of several traces together."""

    name: str  # Of the option, ``--name``.
    help: str
    # The whole file; with the folder that names of source files are relative to.
    text: Callable[[Sequence[Checked], str | None], str]


def _json(checks: Sequence[Checked], root: str | None) -> str:
    from torchtraceap import _core
    from torchtraceap.views.json_form import json_text

    return json_text(
        {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "passes": not any(checked.broken for checked in checks),
            "traces": [checked.to_dict() for checked in checks],
        }
    )


def _sarif(checks: Sequence[Checked], root: str | None) -> str:
    from torchtraceap.views.json_form import json_text

    return json_text(check_sarif(checks, root))


def _markdown(checks: Sequence[Checked], root: str | None) -> str:

    return check_markdown(checks)


FORMS = (
    CheckForm("json", "write what became of each limit as JSON", _json),
    CheckForm(
        "sarif", "write what breaks a limit as SARIF 2.1.0, for code review", _sarif
    ),
    CheckForm("markdown", "write a summary in Markdown, for a pull request", _markdown),
)
