# SPDX-License-Identifier: BSD-3-Clause
"""judge.py: holds a report against a budget: what breaks a limit, what cannot be told.

docs/ci.md states the rules, pattern_limits.py has those of findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from torchtraceap import _core
from torchtraceap._core import Balance
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.data.findings import WAITS
from torchtraceap.gate.budget_data import (
    BY_TIMES,
    EVERY,
    INCOMPLETE,
    LIMITS,
    NO_DEVICE,
    NO_STEPS,
    ONE_TRACE,
    SIMULATED,
    TIME_LIMITS,
    UNLISTED,
    VERDICTS,
    BudgetData,
    Violation,
    broken,
    place_of,
    untold,
)
from torchtraceap.gate.pattern_limits import judge_patterns, judge_wasted
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import device_text


def judge(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what breaks a limit, and what cannot be told (not ``known``)."""
    if not any(budget.lines()):
        for limit, allowed in budget.rank_lines():
            yield untold(limit, allowed, ONE_TRACE)
    if report.quality.verdict == "unusable":
        yield from _unusable(budget, report)
    elif report.trace.simulated is not None:
        yield from _simulated(budget, report)
    else:
        yield from _limits(budget, report)


def _limits(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what is not kept, as if all times were measured."""
    devices = [row for row in report.balance if row.device is not None]
    for name in LIMITS:
        if (allowed := getattr(budget, name)) is None:
            continue
        if name == "min_quality":
            yield from _quality(report, allowed)
        elif name == "max_wasted_share":
            yield from judge_wasted(budget, report)
        elif name == "max_kernels_per_step":
            yield from _kernels(report, allowed)
        elif judge_device := _OF_DEVICES.get(name):
            if not devices:
                yield untold(name, allowed, NO_DEVICE)
            for row in devices:
                yield from judge_device(report, row, allowed)
        else:
            yield from _step_time(report, name, allowed)
    yield from judge_patterns(budget, report)


def _unusable(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    why = _reasons(report).partition(". ")[0]
    for name, allowed in budget.lines():
        if name == "min_quality":
            yield from _quality(report, str(allowed))
        else:
            yield untold(name, allowed, f"the trace is unusable: {why}")


def _simulated(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what is not kept of a simulated trace. Of times nothing can be told, kept
    or not, for none was measured; nor of counts of what rules find by such times. Of
    counts of waits it can: the trace lists each."""
    found = list(_limits(budget, report))
    listed = report.lists_waits
    limits = [budget.patterns.get(name) for name in (WAITS, EVERY)]
    tells_waits = listed and not any(
        limit and limit.over_us is not None for limit in limits
    )
    for name, allowed in budget.lines():
        own = [violation for violation in found if violation.limit == name]
        section, _, key = name.removeprefix("patterns.").rpartition(".")
        if key in TIME_LIMITS:
            figure = own[0].found if own else None
            said = None if isinstance(figure, str) else figure
            yield untold(name, allowed, SIMULATED, said)
        elif key != "max_count" or (section == WAITS and tells_waits):
            yield from own
        elif section == WAITS:
            over = f"{SIMULATED}, and over_us is a limit of times"
            yield untold(name, allowed, over if listed else UNLISTED)
        else:
            if section == EVERY and tells_waits:
                yield from (v for v in own if v.finding and v.finding.pattern == WAITS)
            yield untold(name, allowed, BY_TIMES)


def _quality(report: ReportData, allowed: str) -> Iterator[Violation]:
    found = report.quality.verdict
    if VERDICTS.index(found) > VERDICTS.index(allowed):
        message = f"the trace is {found}, min_quality = {allowed!r}: {_reasons(report)}"
        yield Violation("min_quality", allowed, found, message)


def _reasons(report: ReportData) -> str:
    return " ".join(printable(note.detail) for note in report.quality.reasons)


def _step_time(report: ReportData, name: str, allowed: float) -> Iterator[Violation]:
    times = [step.end_us - step.start_us for step in report.steps]
    if not times:
        yield untold(name, allowed, NO_STEPS)
        return
    if name == "max_step_us":
        found = max(times)
        which = f"step {report.steps[times.index(found)].number}"
    else:
        found = median(times)
        which = f"the median step (of {len(times)})"
    if found > allowed:
        yield broken(name, allowed, found, f"{which} took {time_text(found)}")


def _kernels(report: ReportData, allowed: float) -> Iterator[Violation]:
    name = "max_kernels_per_step"
    counts = report.kernel_counts.steps
    if counts is None or not report.trace.working_devices:
        yield untold(name, allowed, NO_DEVICE if report.steps else NO_STEPS)
    elif counts.max > allowed:  # What is missing can only add to them.
        step = report.steps[counts.each.index(counts.max)].number
        text = f"step {step} launched {counts.max:,} kernels"
        yield broken(name, allowed, counts.max, text)
    elif report.quality.incomplete:
        yield untold(name, allowed, INCOMPLETE, counts.max)


def _busy(report: ReportData, row: Balance, allowed: float) -> Iterator[Violation]:
    found = row.busy_fraction
    if found >= allowed:
        return
    text = (
        f"device {device_text(row, report)} was busy for "
        f"{share_text(row.busy_us, row.span_us)} of {time_text(row.span_us)}"
    )
    if report.quality.incomplete:
        yield untold("min_busy", allowed, f"{text}; {INCOMPLETE}", found)
    else:
        yield broken("min_busy", allowed, found, text)


def _pause(report: ReportData, row: Balance, allowed: float) -> Iterator[Violation]:
    name = "max_gap_us"
    found = row.pause_end_us - row.pause_start_us
    if found <= allowed:
        return
    start = time_text(row.pause_start_us - report.trace.start_us)
    text = (
        f"device {device_text(row, report)} paused for {time_text(found)} from +{start}"
    )
    if report.quality.incomplete:
        yield untold(name, allowed, f"{text}; {INCOMPLETE}", found)
        return
    if row.pause_finding is not None:
        cause = report.rule_findings[row.pause_finding]
        text = f"{place_of(cause)}: {text}, mostly by {cause.kind}"
        yield broken(name, allowed, found, text, [cause])
        return
    # Idle time that is accounted for, but is nobody's to mend.
    others = [pattern.name for pattern in _core.patterns() if not pattern.user_finding]
    own_us = sum(row.idle_us[name] for name in others)
    if found - own_us <= allowed:
        why = f"{text}; the profiler itself held it up for {time_text(own_us)} in all"
        yield untold(name, allowed, why, found)
    else:
        yield broken(name, allowed, found, f"{text}, which no rule explains")


_OF_DEVICES = {"max_gap_us": _pause, "min_busy": _busy}
