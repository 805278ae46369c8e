# SPDX-License-Identifier: BSD-3-Clause
"""judge.py: holds a report against a budget, limit by limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchtraceap.budget import LIMITS, VERDICTS, Violation
from torchtraceap.gate.device_limits import judge_busy, judge_pauses
from torchtraceap.gate.pattern_limits import judge_patterns, judge_wasted
from torchtraceap.gate.step_limits import judge_kernels, judge_longest, judge_median
from torchtraceap.gate.untold import reasons, times_untold, untold

if TYPE_CHECKING:
    from torchtraceap.budget import Budget
    from torchtraceap.report import Report

_JUDGES: dict[str, Callable[[Report, float], Iterator[Violation]]] = {
    "max_gap_us": judge_pauses,
    "min_busy": judge_busy,
    "max_step_us": judge_longest,
    "max_median_step_us": judge_median,
    "max_kernels_per_step": judge_kernels,
}


def judge(budget: Budget, report: Report) -> Iterator[Violation]:
    """Yield what breaks a limit, and what cannot be told (not ``known``)."""
    if report.quality.verdict == "unusable":
        yield from _unusable(budget, report)
    elif report.trace.simulated is not None:
        yield from times_untold(budget, report, list(_limits(budget, report)))
    else:
        yield from _limits(budget, report)


def _limits(budget: Budget, report: Report) -> Iterator[Violation]:
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


def _unusable(budget: Budget, report: Report) -> Iterator[Violation]:
    why = reasons(report).partition(". ")[0]
    for name, allowed in budget.lines():
        if name == "min_quality":
            yield from _quality(report, str(allowed))
        else:
            yield untold(name, allowed, f"the trace is unusable: {why}")


def _quality(report: Report, allowed: str) -> Iterator[Violation]:
    found = report.quality.verdict
    if VERDICTS.index(found) > VERDICTS.index(allowed):
        message = f"the trace is {found}, min_quality = {allowed!r}: {reasons(report)}"
        yield Violation("min_quality", allowed, found, message)
