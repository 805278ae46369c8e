# SPDX-License-Identifier: BSD-3-Clause
"""predicting.py: what a slow trace says that a fix gains, as shares of a step."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import torchtraceap


@dataclass(frozen=True)
class Prediction:
    """Gains as shares of the slow step, or of the span of a trace without steps."""

    low: float = 0.0
    middle: float = 0.0
    high: float = 0.0
    replayed: float = 0.0  #: What the replay without the findings takes off.
    edit: str = ""  #: Of the costliest finding; "" if nothing was found.
    refusal: str = ""  #: Why there is no gain although there are findings.

    @property
    def found(self) -> bool:
        return bool(self.edit)


def median_step(steps: list[float]) -> float:
    """Return the median of all steps but the first: it begins with what the one before
    the recording left undone."""
    return statistics.median(steps[1:] or steps)


def step_ms(report: torchtraceap.Report) -> float:
    """Return a trace's median step."""
    return median_step([(s.end_us - s.start_us) / 1e3 for s in report.steps])


def predict(
    report: torchtraceap.Report, pattern: str, by_step: bool = True
) -> Prediction:
    """Ask a slow trace what it takes without a pattern; one without findings of it is
    predicted as it is."""
    found = [f for f in report.rule_findings if f.pattern == pattern]
    if not found:
        return Prediction()
    edit = max(found, key=lambda f: f.wasted_us).edit
    try:
        result = torchtraceap.what_if(report, pattern)
    except ValueError as error:
        return Prediction(edit=edit, refusal=str(error))
    if result.gain is None or result.changed_span_us is None:
        return Prediction(edit=edit, refusal="; ".join(result.refusals))
    saved_us = result.gain.replayed_us
    replayed = saved_us / result.replayed_span_us
    if by_step and result.steps:
        before = [s.replayed_span_us for s in result.steps]
        after = [s.changed_span_us or s.replayed_span_us for s in result.steps]
        replayed = 1 - median_step(after) / median_step(before)
    share = replayed / saved_us if saved_us > 0 else 1 / result.replayed_span_us
    gain = result.gain
    low, middle, high = (
        share * us for us in (gain.low_us, gain.middle_us, gain.high_us)
    )
    return Prediction(low, middle, high, replayed, edit)
