# SPDX-License-Identifier: BSD-3-Clause
"""told.py: what torchtraceap says of a trace. All that is asked of it is asked here."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import torchtraceap

# Rules and the replay are scored, not the learned detector. By the environment: older
# versions are asked too, which know no such option.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"


@dataclass(frozen=True)
class Range:
    """A gain as told."""

    low: float
    high: float


@dataclass(frozen=True)
class Told:
    """A report, as far as it is scored."""

    report: torchtraceap.Report
    seconds: float

    @property
    def top(self) -> str:
        """The pattern of the first finding, or ""."""
        return self.report.findings[0].pattern if self.report.findings else ""

    @property
    def refusal(self) -> str:
        """Why nothing is priced, or ""."""
        return self.report.recovery.refusal

    def found(self, names: tuple[str, ...]) -> bool:
        """Tells whether there is a finding of one of these patterns."""
        return any(finding.pattern in names for finding in self.report.findings)

    def gain(self, names: tuple[str, ...]) -> Range | None:
        """Return what fixing all findings of these patterns gains, by one replay."""
        of = [it for it in self.report.findings if it.pattern in names]
        if not of:
            return None
        if len(of) == 1:
            (one,) = of
            if one.recoverable_us is None:
                return None
            return Range(one.recoverable_low_us or 0.0, one.recoverable_us)
        gain = torchtraceap.what_if(self.report, *of).gain
        return Range(gain.low_us, gain.high_us) if gain else None

    @property
    def together(self) -> float | None:
        """What fixing all findings at once gains."""
        gain = self.report.recovery.together
        return gain.high_us if gain else None

    def windows(self) -> list[tuple[float, float, list[str]]]:
        """Return begin, end and labels of each window, from the first event on."""
        begin = self.report.trace.start_us
        return [
            (
                w.start_us - begin,
                w.end_us - begin,
                [label.pattern for label in w.labels],
            )
            for w in self.report.windows
        ]


def told_of(trace: bytes) -> Told:
    """Analyze a trace."""
    begin = time.perf_counter()
    report = torchtraceap.analyze(trace)
    assert isinstance(report, torchtraceap.Report)
    _ = report.findings
    return Told(report, time.perf_counter() - begin)
