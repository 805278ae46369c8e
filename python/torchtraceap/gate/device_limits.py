# SPDX-License-Identifier: BSD-3-Clause
"""device_limits.py: the limits of how long a device may idle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.budget import Violation
from torchtraceap.devices import device_text
from torchtraceap.gate.idle import Pause, cause_of, longest_pause
from torchtraceap.gate.occurrences import place_of
from torchtraceap.gate.untold import INCOMPLETE, NO_DEVICE, untold
from torchtraceap.units import share_text, time_text, us_from_ns

if TYPE_CHECKING:
    from torchtraceap.facts import Balance
    from torchtraceap.report import Report


def judge_pauses(report: Report, allowed: float) -> Iterator[Violation]:
    """Hold each device's longest pause against ``max_gap_us``."""
    name = "max_gap_us"
    for row in _devices(report):
        pause = longest_pause(report, row)
        if pause.duration_us > allowed:
            yield _pause(report, row, pause, allowed)
    if not _devices(report):
        yield untold(name, allowed, NO_DEVICE)


def _pause(report: Report, row: Balance, pause: Pause, allowed: float) -> Violation:
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


def judge_busy(report: Report, allowed: float) -> Iterator[Violation]:
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


def _devices(report: Report) -> list[Balance]:
    return [row for row in report.balance if row.device is not None]


def _recording_us(row: Balance) -> float:
    """Return the idle time that is accounted for, but is nobody's to mend."""
    others = [pattern.name for pattern in _core.patterns() if not pattern.user_finding]
    return sum(row.idle_us[name] for name in others)
