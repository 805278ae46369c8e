# SPDX-License-Identifier: BSD-3-Clause
"""predicting.py: the predicted gain of a fix from a pair's slow trace,
and the true gain from its fixed trace."""

from __future__ import annotations

import statistics
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torchtraceap
from benchmarks.lab.corpus.measure import Protocol, time_block
from benchmarks.lab.corpus.recording import record
from benchmarks.lab.corpus.workloads.training import Training
from benchmarks.replay.pair_table import TimedPair, lab_of
from torchtraceap import edits


@dataclass(frozen=True)
class Prediction:
    """Median step in milliseconds, first step of the window left out: it begins with
    what the one before the window left undone."""

    slow: float  # As recorded.
    high: float  # With all of the gain.
    low: float  # With what is counted on; without device work, that is nothing.
    naive: float  # Less the findings' wasted time, spread evenly over the steps.
    refusals: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        return self.naive < self.slow


def middle(steps: list[float]) -> float:
    """Return the median of all steps but the first."""
    return statistics.median(steps[1:] or steps)


def step_ms(report: torchtraceap.Report) -> float:
    """Return a trace's median step."""
    return middle([(s.end_us - s.start_us) / 1e3 for s in report.steps])


def step_less_events(report: torchtraceap.Report, pattern: str) -> float:
    """Return the median step less the whole of the pattern's own events in it, which
    must not overlap: what who reads a timeline would predict.

    Raises ValueError where a finding lists only its costliest events.
    """
    found = [f for f in report.rule_findings if f.pattern == pattern]
    if any(f.count > len(f.events) for f in found):
        raise ValueError(f"not all events of {pattern} are listed")
    spans = [(e.start_us, e.start_us + e.duration_us) for f in found for e in f.events]
    return middle(
        [
            (
                s.end_us
                - s.start_us
                - sum(max(0, min(s.end_us, b) - max(s.start_us, a)) for a, b in spans)
            )
            / 1e3
            for s in report.steps
        ]
    )


def predict(
    report: torchtraceap.Report, pattern: str, *others: edits.Edit
) -> Prediction:
    """Ask a slow trace what it takes without a pattern, and without what `others`
    take away. A trace without findings of it is predicted as it is."""
    slow = step_ms(report)
    found = [f for f in report.rule_findings if f.pattern == pattern]
    if not found:
        return Prediction(slow, slow, slow, slow)
    result = torchtraceap.what_if(report, pattern, *others)
    wasted = sum(f.wasted_us for f in found) / 1e3 / len(report.steps)
    if result.gain is None:
        return Prediction(slow, slow, slow, slow - wasted, result.refusals)
    sure = result.gain.low_us / result.gain.high_us if result.gain.high_us else 0.0
    before = [s.replayed_span_us / 1e3 for s in result.steps]
    after = [(s.changed_span_us or s.replayed_span_us) / 1e3 for s in result.steps]
    low = [b - sure * (b - a) for b, a in zip(before, after, strict=True)]
    return Prediction(slow, middle(after), middle(low), slow - wasted)


def run_twin(
    make: Any, pair: TimedPair, protocol: Protocol
) -> tuple[float, torchtraceap.Report]:
    """Time a twin without the profiler, then record it."""
    run: Training
    with closing(make(lab_of(pair))) as run:
        plain = statistics.median(time_block(run, protocol))
        return plain, analyzed(run, protocol)


def recorded(make: Any, pair: TimedPair, protocol: Protocol) -> torchtraceap.Report:
    """Record a twin."""
    with closing(make(lab_of(pair))) as run:
        return analyzed(run, protocol)


def analyzed(run: Training, protocol: Protocol) -> torchtraceap.Report:
    """Record steps of a run that goes on. A replay needs no file later on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json.gz")
        path.write_bytes(record(run, protocol).data)
        return torchtraceap.analyze(path, detector="off")


def run_round(pair: TimedPair, protocol: Protocol) -> dict[str, Any]:
    """Run both twins, one right after the other, and compare. Milliseconds a step."""
    plain_slow, slow = run_twin(pair.slow, pair, protocol)
    plain_fixed, fixed = run_twin(pair.fixed, pair, protocol)
    left = [
        f.recoverable_us or 0.0
        for f in fixed.rule_findings
        if f.pattern == pair.pattern
    ]
    return compared(predict(slow, pair.pattern), step_ms(fixed)) | {
        "plain_slow": plain_slow,
        "plain_fixed": plain_fixed,
        "left_in_fixed": sum(left) / 1e3 / len(fixed.steps),
    }


def compared(p: Prediction, measured: float) -> dict[str, Any]:
    """Return a prediction beside what was measured."""
    gain, real = p.slow - p.high, p.slow - measured
    return {
        "slow": p.slow,
        "predicted": p.high,
        "predicted_low": p.low,
        "naive": p.naive,
        "measured": measured,
        "found": p.found,
        "refusals": list(p.refusals),
        "error_of_step": p.high / measured - 1,
        "error_of_gain": gain / real - 1 if real > 0 else None,
    }
