# SPDX-License-Identifier: BSD-3-Clause
"""limits.py: the limits on devices and patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.base.units import share_text, time_text, us_from_ns
from torchtraceap.gate.budget_data import (
    EVERY,
    INCOMPLETE,
    NO_DEVICE,
    PATTERN_LIMITS,
    PatternLimits,
    Violation,
    untold,
)
from torchtraceap.gate.occurrences import Cost, costs, place_of
from torchtraceap.views.heading import device_text

if TYPE_CHECKING:
    from torchtraceap.data.facts import Balance
    from torchtraceap.data.findings import Finding
    from torchtraceap.gate.budget_data import BudgetData
    from torchtraceap.report_data import ReportData


@dataclass(frozen=True)
class Pause:
    """A stretch between two pieces of a device's work, in the trace's nanoseconds.

    It is empty where the device never paused.
    """

    begin_ns: int
    end_ns: int

    @property
    def duration_us(self) -> float:
        """Its length."""
        return us_from_ns(self.end_ns - self.begin_ns)


def longest_pause(report: ReportData, device: Balance) -> Pause:
    """Return the longest time between two pieces of work of a device, by its row of
    the balance.

    What lies before its first and after its last work is where the recording began
    and ended, not a pause.
    """
    return Pause(*report.core.longest_pause(device._key))


def cause_of(report: ReportData, device: Balance, pause: Pause) -> Finding | None:
    """Return the finding to which most of a stretch is attributed; None if none is."""
    best, most_ns = None, 0
    for index, finding in enumerate(report.core.findings):
        part_ns = sum(
            max(0, min(claim.end, pause.end_ns) - max(claim.begin, pause.begin_ns))
            for claim in finding.claims
            if claim.idle and claim.device == device._key
        )
        if part_ns > most_ns:
            best, most_ns = index, part_ns
    return None if best is None else report.rule_findings[best]


def judge_pauses(report: ReportData, allowed: float) -> Iterator[Violation]:
    """Hold each device's longest pause against ``max_gap_us``."""
    name = "max_gap_us"
    for row in _devices(report):
        pause = longest_pause(report, row)
        if pause.duration_us > allowed:
            yield _pause(report, row, pause, allowed)
    if not _devices(report):
        yield untold(name, allowed, NO_DEVICE)


def _pause(report: ReportData, row: Balance, pause: Pause, allowed: float) -> Violation:
    found = pause.duration_us
    start = time_text(us_from_ns(pause.begin_ns) - report.trace.start_us)
    text = (
        f"device {device_text(row, report)} paused for {time_text(found)} from +{start}"
    )
    if report.quality.incomplete:
        return untold("max_gap_us", allowed, f"{text}; {INCOMPLETE}", found)
    cause = cause_of(report, row, pause)
    own_us = _recording_us(row)
    if cause is None and found - own_us <= allowed:
        why = f"{text}; the profiler itself held it up for {time_text(own_us)} in all"
        return untold("max_gap_us", allowed, why, found)
    limit = f"max_gap_us = {allowed:g}"
    if cause is None:
        text = f"{text}, which no rule explains, {limit}"
        return Violation("max_gap_us", allowed, found, text)
    text = f"{place_of(cause)}: {text}, mostly by {cause.kind}, {limit}"
    return Violation(
        "max_gap_us", allowed, found, text, cause, cause.location, findings=(cause,)
    )


def judge_busy(report: ReportData, allowed: float) -> Iterator[Violation]:
    """Hold each device's busy share against ``min_busy``."""
    for row in _devices(report):
        if row.busy_fraction >= allowed:
            continue
        text = (
            f"device {device_text(row, report)} was busy for "
            f"{share_text(row.busy_us, row.span_us)} of {time_text(row.span_us)}"
        )
        if report.quality.incomplete:
            why = f"{text}; {INCOMPLETE}"
            yield untold("min_busy", allowed, why, row.busy_fraction)
        else:
            text = f"{text}, min_busy = {allowed:g}"
            yield Violation("min_busy", allowed, row.busy_fraction, text)
    if not _devices(report):
        yield untold("min_busy", allowed, NO_DEVICE)


def _devices(report: ReportData) -> list[Balance]:
    return [row for row in report.balance if row.device is not None]


def _recording_us(row: Balance) -> float:
    """Return the idle time that is accounted for, but is nobody's to mend."""
    others = [pattern.name for pattern in _core.patterns() if not pattern.user_finding]
    return sum(row.idle_us[name] for name in others)


_NONE = PatternLimits()


def judge_patterns(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what breaks the limits of each pattern, those of ``*`` last."""
    if not budget.patterns:
        return
    # Of a pattern without findings, `*` has nothing to limit.
    found = list(dict.fromkeys(finding.pattern for finding in report.rule_findings))
    named = [name for name in budget.patterns if name != EVERY]
    for pattern in (*named, *(name for name in found if name not in named)):
        yield from _judge_pattern(budget, report, pattern)
    yield from _unseen(budget, report, set(found))


def _unseen(
    budget: BudgetData, report: ReportData, found: set[str]
) -> Iterator[Violation]:
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


def judge_wasted(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
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


def _judge_pattern(
    budget: BudgetData, report: ReportData, pattern: str
) -> Iterator[Violation]:
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


def _needs_device(report: ReportData, pattern: str) -> bool:
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


def _allow(budget: BudgetData, pattern: str) -> tuple[str, ...]:
    own, every = (budget.patterns.get(key, _NONE) for key in (pattern, EVERY))
    return own.allow + every.allow
