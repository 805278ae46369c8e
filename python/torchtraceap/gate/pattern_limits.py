# SPDX-License-Identifier: BSD-3-Clause
"""pattern_limits.py: which findings count against a budget, and the limits on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.base.source_lines import display_path, resolve
from torchtraceap.base.units import counted, share_text, time_text, us_from_ns
from torchtraceap.gate.budget_data import (
    EVERY,
    INCOMPLETE,
    NO_DEVICE,
    PATTERN_LIMITS,
    BudgetData,
    PatternLimits,
    Violation,
    broken,
    place_of,
    undetermined,
)
from torchtraceap.report_data import ReportData

_NONE = PatternLimits()


@dataclass(frozen=True)
class Cost:
    """What the occurrences of a finding cost that count."""

    finding: Finding
    count: int
    wasted_us: float


@dataclass(frozen=True)
class Total:
    """What several of these cost together."""

    findings: list[Finding]  # Costliest first.
    count: int
    wasted_us: float
    share: float  # Of ``TraceFacts.device_time_us``, 0 to 1.


def costs(
    report: ReportData,
    pattern: str,
    allow: Iterable[str] = (),
    over_us: float | None = None,
) -> list[Cost]:
    """Return what counts of a pattern's findings.

    Not what is allowed; nor occurrences of which each cost less than ``over_us``. In a
    dry run's trace each listed wait counts, whatever it costs.
    """
    found = []
    for index, finding in enumerate(report.rule_findings):
        if finding.pattern != pattern or _is_allowed(finding, allow):
            continue
        if over_us is None:
            count = finding.count if finding.waits is None else finding.waits
            found.append(Cost(finding, count, finding.wasted_us))
        elif long := [us for us in _occurrences_us(report, index) if us >= over_us]:
            found.append(Cost(finding, len(long), sum(long)))
    return found


def total(parts: Iterable[Cost], report: ReportData) -> Total:
    """Return what counts of some findings, added up."""
    ordered = sorted(parts, key=lambda cost: -cost.wasted_us)
    count = sum(cost.count for cost in ordered)
    wasted_us = sum(cost.wasted_us for cost in ordered)
    whole_us = report.trace.device_time_us
    share = wasted_us / whole_us if whole_us else 0.0
    return Total([cost.finding for cost in ordered], count, wasted_us, share)


def patterns_of(report: ReportData) -> list[str]:
    """Return the patterns that a report has findings of, in their order."""
    return list(dict.fromkeys(finding.pattern for finding in report.rule_findings))


def _is_allowed(finding: Finding, allow: Iterable[str]) -> bool:
    names = list(_names(finding))
    return any(fnmatchcase(name, wanted) for wanted in allow for name in names)


def _names(finding: Finding) -> Iterator[str]:
    """Yield what a budget may call a finding to allow it."""
    yield finding.id
    if finding.subtype:
        yield finding.subtype
    if finding.operator:
        yield finding.operator
        yield finding.operator.removeprefix("aten::")
    if (where := finding.location) is not None:
        path = where.file.replace("\\", "/")
        whole = resolve(where.file)
        for file in {where.file, path, path.rpartition("/")[2], display_path(whole)}:
            yield file
            yield f"{file}:{where.line}"
            yield f"{file}:{where.recorded_line}"
            yield f"{file}:{where.function}"


def _occurrences_us(report: ReportData, index: int) -> Iterable[float]:
    """Return what each occurrence cost: the events that prove it tell them apart."""
    return map(us_from_ns, report.core.occurrences_ns(index))


def judge_wasted(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Hold all findings but those that are allowed against ``max_wasted_share``."""
    name, allowed = "max_wasted_share", budget.max_wasted_share or 0.0
    counting = [
        cost
        for pattern in patterns_of(report)
        for cost in costs(report, pattern, _allow(budget, pattern))
    ]
    whole = total(counting, report)
    if report.quality.incomplete:
        yield undetermined(name, allowed, INCOMPLETE, whole.share)
    elif whole.share > allowed:
        worst = whole.findings[0]
        text = (
            f"{place_of(worst)}: {time_text(whole.wasted_us)} are wasted "
            f"({share_text(whole.share, 1.0)}), most of it by {worst.kind} here"
        )
        yield broken(name, allowed, whole.share, text, whole.findings)


def judge_patterns(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what breaks the limits of each pattern, those of ``*`` last."""
    if not budget.patterns:
        return
    # Of a pattern without findings, `*` has nothing to limit.
    found = patterns_of(report)
    named = [name for name in budget.patterns if name != EVERY]
    for pattern in (*named, *(name for name in found if name not in named)):
        yield from _judge_pattern(budget, report, pattern)
    yield from _absent(budget, report, set(found))


def _judge_pattern(
    budget: BudgetData, report: ReportData, pattern: str
) -> Iterator[Violation]:
    own, every = (budget.patterns.get(key, _NONE) for key in (pattern, EVERY))
    over_us = every.over_us if own.over_us is None else own.over_us
    whole = total(costs(report, pattern, _allow(budget, pattern), over_us), report)
    figures = float(whole.count), whole.wasted_us, whole.share
    for key, found in zip(PATTERN_LIMITS, figures, strict=True):
        section = EVERY if getattr(own, key) is None else pattern
        limits = every if section == EVERY else own
        if (allowed := getattr(limits, key)) is None:
            continue
        name = f"patterns.{section}.{key}"
        if report.quality.incomplete:
            of = f"{pattern}: " if section == EVERY else ""
            yield undetermined(name, allowed, of + INCOMPLETE, found)
        elif found > allowed:
            wasted = share_text(whole.wasted_us, report.trace.device_time_us)
            text = (
                f"{place_of(whole.findings[0])}: {pattern} ×{whole.count:g}, "
                f"{time_text(whole.wasted_us)} ({wasted})"
            )
            if len(whole.findings) > 1:
                text += f" at {len(whole.findings)} places"
            yield broken(name, allowed, found, text, whole.findings)
        elif (
            section == pattern
            and pattern not in patterns_of(report)
            and _needs_device(report, pattern)
        ):
            yield undetermined(name, allowed, NO_DEVICE, found)


def _absent(
    budget: BudgetData, report: ReportData, found: set[str]
) -> Iterator[Violation]:
    """Yield the limits of ``*`` that are undetermined for patterns without findings."""
    for key in PATTERN_LIMITS:
        allowed = getattr(budget.patterns.get(EVERY, _NONE), key)
        if allowed is None:
            continue
        name = f"patterns.{EVERY}.{key}"
        own = {n for n, p in budget.patterns.items() if getattr(p, key) is not None}
        held = {p.name for p in _core.patterns() if p.user_finding} - own
        absent = [one for one in held - found if _needs_device(report, one)]
        if report.quality.incomplete and not found - own:
            yield undetermined(name, allowed, INCOMPLETE)
        elif absent:
            many = counted(len(absent), "pattern")
            yield undetermined(
                name, allowed, f"{NO_DEVICE}, in which {many} would show"
            )


def _needs_device(report: ReportData, pattern: str) -> bool:
    """Tell whether a pattern cannot be in a trace, for want of device work."""
    if report.trace.working_devices:
        return False
    return any(p.name == pattern and not p.on_host for p in _core.patterns())


def _allow(budget: BudgetData, pattern: str) -> tuple[str, ...]:
    own, every = (budget.patterns.get(key, _NONE) for key in (pattern, EVERY))
    return own.allow + every.allow
