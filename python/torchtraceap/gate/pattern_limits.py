# SPDX-License-Identifier: BSD-3-Clause
"""pattern_limits.py: the limits of what findings may cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.budget import EVERY, PATTERN_LIMITS, PatternLimits, Violation
from torchtraceap.gate.occurrences import Cost, costs, place_of
from torchtraceap.gate.untold import INCOMPLETE, NO_DEVICE, untold
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.budget import Budget
    from torchtraceap.report import Report

_NONE = PatternLimits()


def judge_patterns(budget: Budget, report: Report) -> Iterator[Violation]:
    """Yield what breaks the limits of each pattern, those of ``*`` last."""
    if not budget.patterns:
        return
    # Of a pattern without findings, `*` has nothing to limit.
    found = list(dict.fromkeys(finding.pattern for finding in report.rule_findings))
    named = [name for name in budget.patterns if name != EVERY]
    for pattern in (*named, *(name for name in found if name not in named)):
        yield from _judge_pattern(budget, report, pattern)
    yield from _unseen(budget, report, set(found))


def _unseen(budget: Budget, report: Report, found: set[str]) -> Iterator[Violation]:
    """Yield those limits of ``*`` that cannot be told of patterns without findings."""
    for key in PATTERN_LIMITS:
        allowed = getattr(budget.patterns.get(EVERY, _NONE), key)
        if allowed is None:
            continue
        name = f"patterns.{EVERY}.{key}"
        own = {n for n, p in budget.patterns.items() if getattr(p, key) is not None}
        held = {p.name for p in _core.patterns() if p.user_finding} - own
        unseen = [one for one in held - found if _needs_device(report, one)]
        if report.quality.incomplete and not found - own:
            yield untold(name, allowed, INCOMPLETE)
        elif unseen:
            count = f"{len(unseen)} pattern{'s' * (len(unseen) > 1)}"
            yield untold(name, allowed, f"{NO_DEVICE}, in which {count} would show")


def judge_wasted(budget: Budget, report: Report) -> Iterator[Violation]:
    """Hold all findings but those that are allowed against ``max_wasted_share``."""
    name, allowed = "max_wasted_share", budget.max_wasted_share or 0.0
    patterns = dict.fromkeys(finding.pattern for finding in report.rule_findings)
    counted = [
        cost
        for pattern in patterns
        for cost in costs(report, _allow(budget, pattern), None, pattern)
    ]
    counted.sort(key=lambda cost: -cost.wasted_us)
    wasted_us = sum(cost.wasted_us for cost in counted)
    whole_us = report.trace.device_time_us
    found = wasted_us / whole_us if whole_us else 0.0
    if report.quality.incomplete:
        yield untold(name, allowed, INCOMPLETE, found)
    elif found > allowed:
        worst = counted[0].finding
        message = (
            f"{place_of(worst)}: {time_text(wasted_us)} are wasted "
            f"({share_text(wasted_us, whole_us)}), most of it by {worst.kind} here, "
            f"{name} = {allowed:g}"
        )
        yield _violation(name, allowed, found, message, counted)


def _judge_pattern(budget: Budget, report: Report, pattern: str) -> Iterator[Violation]:
    own, every = (budget.patterns.get(key, _NONE) for key in (pattern, EVERY))
    over_us = every.over_us if own.over_us is None else own.over_us
    counted = costs(report, _allow(budget, pattern), over_us, pattern)
    seen = any(finding.pattern == pattern for finding in report.rule_findings)
    wasted_us = sum(cost.wasted_us for cost in counted)
    whole_us = report.trace.device_time_us
    figures = {
        "max_count": float(sum(cost.count for cost in counted)),
        "max_wasted_us": wasted_us,
        "max_share": wasted_us / whole_us if whole_us else 0.0,
    }
    for key in PATTERN_LIMITS:
        section = pattern if getattr(own, key) is not None else EVERY
        limits = own if section == pattern else every
        if (allowed := getattr(limits, key)) is None:
            continue
        name, found = f"patterns.{section}.{key}", figures[key]
        if report.quality.incomplete:
            of = f"{pattern}: " if section == EVERY else ""
            yield untold(name, allowed, of + INCOMPLETE, found)
        elif found > allowed:
            message = (
                f"{place_of(counted[0].finding)}: {pattern} ×{figures['max_count']:g}, "
                f"{time_text(wasted_us)} ({share_text(wasted_us, whole_us)})"
                + (f" at {len(counted)} places" if len(counted) > 1 else "")
                + f", {name} = {allowed:g}"
            )
            yield _violation(name, allowed, found, message, counted)
        elif section == pattern and not seen and _needs_device(report, pattern):
            yield untold(name, allowed, NO_DEVICE, found)


def _needs_device(report: Report, pattern: str) -> bool:
    """Tell whether a pattern cannot be in a trace, for want of device work."""
    if report.trace.working_devices:
        return False
    return any(p.name == pattern and not p.on_host for p in _core.patterns())


def _violation(
    name: str, allowed: float, found: float, message: str, counted: list[Cost]
) -> Violation:
    findings = tuple(cost.finding for cost in counted)
    worst = findings[0]
    return Violation(
        name, allowed, found, message, worst, worst.location, findings=findings
    )


def _allow(budget: Budget, pattern: str) -> tuple[str, ...]:
    own, every = (budget.patterns.get(key, _NONE) for key in (pattern, EVERY))
    return own.allow + every.allow
