# SPDX-License-Identifier: BSD-3-Clause
"""scoring.py: compares reports with the truth."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torchtraceap
from benchmarks.lab.blame.cases import Sample, names_of, pattern_of
from benchmarks.lab.blame.truth import Truth

# Rules and the replay are scored, not the learned detector. By the environment: older
# versions are asked too, which know no such option.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"


@dataclass(frozen=True)
class Range:
    """A gain as told."""

    low: float
    middle: float
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
            return Range(
                one.recoverable_low_us or 0.0,
                one.recoverable_us,
                one.recoverable_high_us or 0.0,
            )
        gain = torchtraceap.what_if(self.report, *of).gain
        return Range(gain.low_us, gain.middle_us, gain.high_us) if gain else None

    @property
    def together(self) -> float | None:
        """What fixing all findings at once gains."""
        gain = self.report.recovery.together
        return gain.middle_us if gain else None

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


#: Gains under this share of the trace are not asked for: most rules keep silent there.
LEAST_GAIN = 0.03
#: A window has a cause if a fix saves this share of it.
LEAST_SAVED = 0.02
#: So much if the fix is of no fault, but of how the program launches or communicates:
#: less is part of every program, and neither asked for nor called wrong.
LEAST_ANYWAY = 0.10
#: What counts as inside a range, and as equally good: of the truth.
_SLACK = 0.02

#: What is asked of the median error of a gain, by pattern; of the rest only together.
GOALS = {
    "sync_stall": 0.05,
    "launch_bound": 0.08,
    **dict.fromkeys(
        ("dataloader_bound", "comm_exposed", "small_collectives",
         "comm_stream_serialised", "redundant_d2d", "exposed_copy"), 0.10
    ),
    **dict.fromkeys(
        ("frequent_memcpy", "host_bound_python", "gc_pause", "graph_break",
         "unfused_optimizer", "allocator_churn"), 0.15
    ),
    **dict.fromkeys(("pageable_copy", "low_occupancy", "small_grid"), 0.25),
    "all": 0.05,
}  # fmt: skip
#: Figures that are of no pattern: key, what it is, goal, whether that is the most.
_OTHERS = (
    ("windows_right", "windows whose first label is the right one", 0.85, False),
    ("top_right", "traces whose first finding is of a fault", 0.85, False),
    ("clean_labeled", "windows without a cause that are labeled", 0.05, True),
    ("inside", "gains whose range has the true one", 0.80, False),
    ("together_error", "error of the gain of all fixes at once, median", None, True),
)
Row = dict[str, Any]


def score(it: Sample, truth: Truth, told: Told) -> Row:
    """Score a trace."""
    span = truth.ran.span
    gains = []
    for fault in it.faults:
        real = truth.fixes[fault].gain
        if real < LEAST_GAIN * span:
            continue
        gain = told.gain(names_of(fault))
        said = gain or Range(0.0, 0.0, 0.0)
        gains.append(
            {
                "fault": fault,
                "truth": real / span,
                "said": said.middle / span,
                "low": said.low / span,
                "high": said.high / span,
                "found": told.found(names_of(fault)),
                "priced": gain is not None,
                "error": abs(said.middle - real) / real,
                "inside": (1 - _SLACK) * said.low <= real <= (1 + _SLACK) * said.high,
            }
        )
    together = told.together
    return {
        "seed": it.case.seed,
        "family": it.case.family.name,
        "gpu": it.case.gpu.name,
        "ahead": it.ahead,
        "faults": it.faults,
        "span_us": span,
        "events": told.report.trace.events,
        "seconds": told.seconds,
        "refusal": told.refusal,
        "gains": gains,
        "together": truth.together / span,
        "together_said": None if together is None else together / span,
        "top": _top(it, truth, told),
        "top_said": told.top,
        "windows": _windows(it, truth, told),
    }


def _top(it: Sample, truth: Truth, told: Told) -> bool | None:
    """Tells whether the first finding is of a fault, of one that gains much.

    Launches and communication of the program itself are not asked for first: a graph
    is captured once the faults are gone. None if no fault gains much.
    """
    least = LEAST_GAIN * truth.ran.span
    much = [fault for fault in it.faults if truth.fixes[fault].gain >= least]
    if not much:
        return None
    return any(told.top in names_of(fault) for fault in much)


def _windows(it: Sample, truth: Truth, told: Told) -> list[Row]:
    """Score windows: the cause that saves most in each, and the reported one."""
    rows = []
    for begin, end, labels in told.windows():
        if end <= begin:
            continue
        saved = {f: fix.saved(begin, end) for f, fix in truth.fixes.items()}
        cause = max(saved, key=lambda fault: saved[fault])
        share = saved[cause] / (end - begin)
        known = share > LEAST_SAVED
        if known and cause not in it.faults and share <= LEAST_ANYWAY:
            continue
        said = labels[0] if labels else ""
        rows.append(
            {
                "cause": cause if known else "",
                "said": said,
                "share": share,
                "right": said in names_of(cause) if known else not labels,
            }
        )
    return rows


def summary(rows: Sequence[Row]) -> Row:
    """Sum up traces: by pattern, and over all."""
    gains = [gain for row in rows for gain in row["gains"]]
    patterns = dict.fromkeys(pattern_of(gain["fault"]) for gain in gains)
    table = {
        pattern: of_gains([g for g in gains if pattern_of(g["fault"]) == pattern])
        for pattern in patterns
    }
    windows = [window for row in rows for window in row["windows"]]
    caused = [w for w in windows if w["cause"]]
    clean = [w for w in windows if not w["cause"]]
    for pattern, line in table.items():
        line["windows"] = _share(
            w["right"] for w in caused if pattern_of(w["cause"]) == pattern
        )
    both = [r for r in rows if r["together_said"] is not None and len(r["faults"]) > 1]
    return {
        "patterns": table,
        "all": of_gains(gains),
        "windows_right": _share(w["right"] for w in caused),
        "windows_with_cause": len(caused),
        "clean_labeled": _share(not w["right"] for w in clean),
        "clean_windows": len(clean),
        "top_right": _share(r["top"] for r in rows if r["top"] is not None),
        "traces_with_cause": sum(r["top"] is not None for r in rows),
        "refused": sum(bool(row["refusal"]) for row in rows),
        "together_error": _median(
            abs(r["together_said"] - r["together"]) / r["together"]
            for r in both
            if r["together"] > LEAST_GAIN
        ),
        "traces": len(rows),
        "several": sum(len(row["faults"]) > 1 for row in rows),
        "events": _median(row["events"] for row in rows),
        "seconds": sum(row["seconds"] for row in rows),
    }


def goals(results: Row) -> Row:
    """Return what is asked of the figures, and those that are of no pattern: what it
    is, the figure, of how many, its goal, whether that is the most."""
    sums = results["summary"]
    values = {**sums, "inside": sums["all"]["inside"]}
    counts = {
        "windows_right": sums["windows_with_cause"],
        "clean_labeled": sums["clean_windows"],
        "top_right": sums["traces_with_cause"],
        "inside": sums["all"]["n"],
        "together_error": sums["several"],
    }
    others = [
        (what, values[key], counts[key], goal, most)
        for key, what, goal, most in _OTHERS
    ]
    return {"goals": GOALS, "others": others}


def of_gains(gains: Sequence[Row]) -> Row:
    """Sum up errors of gains."""
    errors = sorted(gain["error"] for gain in gains)
    return {
        "n": len(gains),
        "found": sum(gain["found"] for gain in gains),
        "priced": sum(gain["priced"] for gain in gains),
        "median": _median(errors),
        "p90": errors[min(len(errors) - 1, int(0.9 * len(errors)))] if errors else None,
        "inside": _share(gain["inside"] for gain in gains),
    }


def _share(values: Iterable[bool]) -> float | None:
    them = list(values)
    return sum(them) / len(them) if them else None


def _median(values: Iterable[float]) -> float | None:
    them = list(values)
    return statistics.median(them) if them else None
