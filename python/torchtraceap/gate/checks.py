# SPDX-License-Identifier: BSD-3-Clause
"""checks.py: the outcome of each limit, and its output forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.base.location import location_form
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import wrapped
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.job import JobData
from torchtraceap.gate.budget_data import BudgetData, Violation, limit_text, place_of
from torchtraceap.gate.comparison import (
    WORSE,
    Comparison,
)
from torchtraceap.gate.judge import judge, judge_ranks
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import simulated_text
from torchtraceap.views.json_form import json_text
from torchtraceap.views.markdown import HEAD, code, findings_rows, joined, plain, table
from torchtraceap.views.sarif import sarif_log, sarif_run

_PLACES = 5  # Of one limit, on a terminal.
_RANKS = 10  # That break one limit, on a terminal.
_ROWS = 20  # Of one trace, in Markdown.


@dataclass(frozen=True)
class Line:
    """A limit with what breaks it, or with why it is undetermined."""

    limit: str
    allowed: float | str
    violations: tuple[Violation, ...]
    passes: bool  # Also where `violations` are unknown, and the budget lets them pass.


@dataclass(frozen=True)
class Checked:
    """A report, held against a budget and, if there is one, a baseline; or the ranks of
    a job, of which ``report`` is that of the rank that breaks most."""

    report: ReportData
    lines: tuple[Line, ...]
    comparison: Comparison | None = None
    job: str = ""  # What was named as one.

    @property
    def name(self) -> str:
        """What was checked: a trace, or what was named as a job."""
        return self.job or self.report.trace.path

    @property
    def broken(self) -> tuple[Line, ...]:
        """The lines that do not pass."""
        return tuple(line for line in self.lines if not line.passes)

    def to_dict(self) -> dict[str, Any]:
        """Return the form of JSON, as docs/ci.md describes it."""
        return {
            "trace": self.name,
            "passes": not self.broken,
            "simulated": self.report.trace.simulated is not None,
            "limits": [
                {
                    "limit": line.limit,
                    "allowed": line.allowed,
                    "passes": line.passes,
                    "violations": [
                        {
                            "known": violation.known,
                            "found": violation.found,
                            "message": violation.message,
                            "rank": violation.rank,
                            "location": location_form(violation.location),
                            "findings": [found.id for found in violation.findings],
                        }
                        for violation in line.violations
                    ],
                }
                for line in self.lines
            ],
            "comparison": self.comparison and self.comparison.to_dict(),
        }


def check_report(
    report: ReportData, budget: BudgetData, comparison: Comparison | None = None
) -> Checked:
    """Hold a report against a budget, and a comparison with a baseline, of which it is
    `after`, against none of its findings being new or grown and its steps no slower."""
    limits, found = list(budget.lines()), list(judge(budget, report))
    if comparison is not None:
        limits += [(f"baseline.{kind}", "none") for kind in WORSE]
        found += _regressions(comparison, report)
    return Checked(report, _lines(limits, found, budget), comparison)


def check_job(
    job: JobData, reports: Sequence[ReportData], budget: BudgetData
) -> Checked:
    """Hold the ranks of a job against a budget: its ``[ranks]`` together, and all else
    each of them, for which ``reports`` are asked one after the other."""
    ranks = {row.rank for row in job.ranks}
    by_path = {row.path: row.rank for row in job.ranks}
    limits: list[tuple[str, float | str]] = [*budget.rank_lines(), *budget.lines()]
    found = list(judge_ranks(budget, job))
    worst, most = reports[0], -1
    for report in reports if any(budget.lines()) else ():
        own = list(judge(budget, report))
        number = report.trace.rank
        rank = number if number in ranks else by_path.get(report.trace.path, number)
        found += [
            replace(v, rank=rank, message=f"rank {rank}: {v.message}") for v in own
        ]
        if (broken := sum(v.known for v in own)) > most:
            worst, most = report, broken
    return Checked(worst, _lines(limits, found, budget), job=job.facts.source)


def _lines(
    limits: Iterable[tuple[str, float | str]],
    found: Sequence[Violation],
    budget: BudgetData,
) -> tuple[Line, ...]:
    unknown_passes = budget.unknown == "pass"
    lines = []
    for limit, allowed in limits:
        own = tuple(v for v in found if v.limit == limit)
        passes = all(unknown_passes and not v.known for v in own)
        lines.append(Line(limit, allowed, own, passes))
    return tuple(lines)


def _regressions(comparison: Comparison, report: ReportData) -> Iterator[Violation]:
    findings = {finding.id: finding for finding in report.rule_findings}
    for worse in comparison.worse(WORSE):
        seen = worse.finding and worse.finding.after
        yield Violation(
            f"baseline.{worse.kind}",
            "none",
            worse.found,
            worse.message,
            worse.known,
            (findings[seen.id],) if seen and seen.id in findings else (),
        )


def check_text(checked: Checked) -> str:
    """Return what a check of one trace says, the broken limits with their places."""
    return "\n".join(_text(checked))


def check_markdown(checks: Sequence[Checked]) -> str:
    """Return checks as one Markdown text under 64 KiB."""
    broken = sum(bool(checked.broken) for checked in checks)
    whole = counted(len(checks), "job" if checks[0].job else "trace")
    said = f"{broken} of {whole} over budget" if broken else f"{whole} within budget"
    # Those that fail first: what does not fit is left out at the end.
    order = sorted(checks, key=lambda checked: not checked.broken)
    texts = ["\n\n".join(_one_markdown(checked)) for checked in order]
    return f"## torchtraceap: {said}\n\n" + joined(texts, "traces")


def _verdict(checked: Checked) -> str:
    """Return how a check ended, in a few words."""
    whole = len(checked.lines)
    if not checked.broken:
        untold = sum(bool(line.violations) for line in checked.lines)
        but = f"; {untold} undetermined, which may pass" if untold else ""
        return f"within budget ({counted(whole, 'limit')}{but})"
    known = sum(any(v.known for v in line.violations) for line in checked.broken)
    untold = len(checked.broken) - known
    parts = [f"{known} of {whole} limits broken"] if known else []
    parts += [f"{untold} of {whole} undetermined"] if untold else []
    how = "over budget" if known else "not known to be within budget"
    return f"{how}: {', '.join(parts)}"


def _text(checked: Checked) -> Iterator[str]:
    yield f"{printable(checked.name)}: {_verdict(checked)}"
    yield from wrapped(simulated_text(checked.report.trace.simulated), "  ")
    untold: dict[str, list[str]] = {}
    for line in checked.lines:
        said = 0
        for violation in line.violations:
            if violation.why:
                untold.setdefault(violation.why, []).append(line.limit)
                continue
            if (said := said + 1) > _RANKS and checked.job:
                continue
            yield from wrapped(violation.message, "    ", first="  ")
            if len(violation.findings) > 1:
                yield from _places(violation.findings, checked.report)
        if checked.job and said > _RANKS:
            yield f"  and {said - _RANKS} more ranks, {line.limit}"
    for why, limits in untold.items():
        names = ", ".join(dict.fromkeys(limits))
        yield from wrapped(f"undetermined: {names}: {why}", "    ", first="  ")


def _places(findings: Sequence[Finding], report: ReportData) -> Iterator[str]:
    whole_us = report.trace.device_time_us
    for finding in findings[:_PLACES]:
        yield (
            f"      {place_of(finding)}: {finding.kind} ×{finding.count}, "
            f"{time_text(finding.wasted_us)} "
            f"({share_text(finding.wasted_us, whole_us)})"
        )
    if len(findings) > _PLACES:
        yield f"      and {len(findings) - _PLACES} more"


def _one_markdown(checked: Checked) -> Iterator[str]:
    sign = "❌" if checked.broken else "✅"
    yield f"### {sign} {code(checked.name)}: {_verdict(checked)}"
    if assumed := simulated_text(checked.report.trace.simulated):
        yield f"**{plain(assumed)}**"
    told = [line for line in checked.lines if line.violations]
    if told:
        yield table(("limit", "", "what"), _limit_rows(told), 3)
    if findings := _blamed(checked):
        worst = sorted(findings, key=lambda f: -f.wasted_us)[:_ROWS]
        rows = findings_rows(worst, checked.report.trace.device_time_us)
        yield table(HEAD, rows)
        if more := len(findings) - len(worst):
            yield f"and {more} more"
    if checked.comparison is not None:
        yield checked.comparison.to_markdown()


def _blamed(checked: Checked) -> list[Finding]:
    """Return the findings that break a limit, each once."""
    said = [v for line in checked.broken for v in line.violations]
    return list({f.id: f for violation in said for f in violation.findings}.values())


def _limit_rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    for line in lines[:_ROWS]:
        said = line.violations
        sign = "➖" if line.passes else "❌"
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        limit = code(limit_text(line.limit, line.allowed))
        yield limit, sign, code(said[0].message, 400) + more
    if len(lines) > _ROWS:
        yield f"and {len(lines) - _ROWS} more", "", ""


def _json(checks: Sequence[Checked], root: str | None) -> str:
    return json_text(
        {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "passes": not any(checked.broken for checked in checks),
            "traces": [checked.to_dict() for checked in checks],
        }
    )


def _sarif(checks: Sequence[Checked], root: str | None) -> str:
    """The findings that break a limit are the results of a run, what each broken limit
    says is a notification of it."""
    runs = []
    for checked in checks:
        notes = [v.message for line in checked.broken for v in line.violations]
        runs.append(sarif_run(checked.report, _blamed(checked), notes, root))
    return json_text(sarif_log(runs))


class CheckForm(NamedTuple):
    """A form of the checks of several traces together."""

    help: str
    #: The whole file; with the folder that names of source files are relative to.
    text: Callable[[Sequence[Checked], str | None], str]


#: By the name of the option that writes it.
FORMS = {
    "json": CheckForm("write the outcome of each limit as JSON", _json),
    "sarif": CheckForm("write violations as SARIF 2.1.0, for code review", _sarif),
    "markdown": CheckForm(
        "write a summary in Markdown, for a pull request",
        lambda checks, root: check_markdown(checks),
    ),
}
