# SPDX-License-Identifier: BSD-3-Clause
"""judge.py: holds a report against a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import time_text
from torchtraceap.data.findings import WAITS
from torchtraceap.gate.budget_data import (
    BY_TIMES,
    EVERY,
    INCOMPLETE,
    LIMITS,
    NO_DEVICE,
    NO_STEPS,
    SIMULATED,
    TIME_LIMITS,
    UNLISTED,
    VERDICTS,
    Violation,
    untold,
)
from torchtraceap.gate.limits import (
    judge_busy,
    judge_patterns,
    judge_pauses,
    judge_wasted,
)

if TYPE_CHECKING:
    from torchtraceap.gate.budget_data import BudgetData
    from torchtraceap.report_data import ReportData


def times_untold(
    budget: BudgetData, report: ReportData, found: Sequence[Violation]
) -> Iterator[Violation]:
    """Yield what breaks limits of a simulated trace. Of times nothing can be told, kept
    or not, for none was measured; nor of counts of what rules find by such times. Of
    counts of waits it can: the trace lists each."""
    for name, allowed in budget.lines():
        own = [violation for violation in found if violation.limit == name]
        figure = own[0].found if own else None
        section, _, key = name.removeprefix("patterns.").rpartition(".")
        if key in TIME_LIMITS:
            said = None if isinstance(figure, str) else figure
            yield untold(name, allowed, SIMULATED, said)
        elif key != "max_count":
            yield from own
        elif section == EVERY:
            of_waits = [v for v in own if v.finding and v.finding.pattern == WAITS]
            if of_waits and _tells_waits(budget, report):
                yield from of_waits
            yield untold(name, allowed, BY_TIMES)
        elif section == WAITS and _tells_waits(budget, report):
            yield from own
        else:
            why = BY_TIMES if section != WAITS else UNLISTED
            if section == WAITS and report.lists_waits:
                why = f"{SIMULATED}, and over_us is a limit of times"
            yield untold(name, allowed, why)


def _tells_waits(budget: BudgetData, report: ReportData) -> bool:
    limits = [budget.patterns.get(name) for name in (WAITS, EVERY)]
    over_us = any(limit and limit.over_us is not None for limit in limits)
    return report.lists_waits and not over_us


def reasons(report: ReportData) -> str:
    """Return why the quality of a trace is what it is."""
    return " ".join(printable(note.detail) for note in report.quality.reasons)


def judge_longest(report: ReportData, allowed: float) -> Iterator[Violation]:
    """Hold the longest step against ``max_step_us``."""
    if not report.steps:
        yield untold("max_step_us", allowed, NO_STEPS)
        return
    longest = max(report.steps, key=lambda step: step.end_us - step.start_us)
    found = longest.end_us - longest.start_us
    if found > allowed:
        text = (
            f"step {longest.number} took {time_text(found)}, max_step_us = {allowed:g}"
        )
        yield Violation("max_step_us", allowed, found, text)


def judge_median(report: ReportData, allowed: float) -> Iterator[Violation]:
    """Hold the median step against ``max_median_step_us``."""
    if not report.steps:
        yield untold("max_median_step_us", allowed, NO_STEPS)
        return
    found = median(step.end_us - step.start_us for step in report.steps)
    if found > allowed:
        text = (
            f"the median step (of {len(report.steps)}) took {time_text(found)}, "
            f"max_median_step_us = {allowed:g}"
        )
        yield Violation("max_median_step_us", allowed, found, text)


def judge_kernels(report: ReportData, allowed: float) -> Iterator[Violation]:
    """Hold the step that launches most against ``max_kernels_per_step``."""
    name = "max_kernels_per_step"
    counts = report.kernel_counts.steps
    if counts is None or not report.trace.working_devices:
        yield untold(name, allowed, NO_DEVICE if report.steps else NO_STEPS)
        return
    # What is missing can only add to them.
    if counts.max > allowed:
        step = report.steps[counts.each.index(counts.max)].number
        text = f"step {step} launched {counts.max:,} kernels, {name} = {allowed:g}"
        yield Violation(name, allowed, counts.max, text)
    elif report.quality.incomplete:
        yield untold(name, allowed, INCOMPLETE, counts.max)


_JUDGES: dict[str, Callable[[ReportData, float], Iterator[Violation]]] = {
    "max_gap_us": judge_pauses,
    "min_busy": judge_busy,
    "max_step_us": judge_longest,
    "max_median_step_us": judge_median,
    "max_kernels_per_step": judge_kernels,
}


def judge(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what breaks a limit, and what cannot be told (not ``known``)."""
    if report.quality.verdict == "unusable":
        yield from _unusable(budget, report)
    elif report.trace.simulated is not None:
        yield from times_untold(budget, report, list(_limits(budget, report)))
    else:
        yield from _limits(budget, report)


def _limits(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    for name in LIMITS:
        if (allowed := getattr(budget, name)) is None:
            continue
        if name == "min_quality":
            yield from _quality(report, allowed)
        elif name == "max_wasted_share":
            yield from judge_wasted(budget, report)
        else:
            yield from _JUDGES[name](report, allowed)
    yield from judge_patterns(budget, report)


def _unusable(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    why = reasons(report).partition(". ")[0]
    for name, allowed in budget.lines():
        if name == "min_quality":
            yield from _quality(report, str(allowed))
        else:
            yield untold(name, allowed, f"the trace is unusable: {why}")


def _quality(report: ReportData, allowed: str) -> Iterator[Violation]:
    found = report.quality.verdict
    if VERDICTS.index(found) > VERDICTS.index(allowed):
        message = f"the trace is {found}, min_quality = {allowed!r}: {reasons(report)}"
        yield Violation("min_quality", allowed, found, message)
