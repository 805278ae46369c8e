# SPDX-License-Identifier: BSD-3-Clause
"""step_limits.py: the limits of what a step may take."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from torchtraceap.budget import Violation
from torchtraceap.gate.untold import INCOMPLETE, NO_DEVICE, NO_STEPS, untold
from torchtraceap.units import time_text

if TYPE_CHECKING:
    from torchtraceap.report import Report


def judge_longest(report: Report, allowed: float) -> Iterator[Violation]:
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


def judge_median(report: Report, allowed: float) -> Iterator[Violation]:
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


def judge_kernels(report: Report, allowed: float) -> Iterator[Violation]:
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
