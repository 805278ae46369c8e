# SPDX-License-Identifier: BSD-3-Clause
"""json_form.py: a report in its JSON form.

The lists of steps, windows and paths are limited: writing 100,000 of them took 22 s
and 2.45 GB. The tables have all (docs/reference/outputs.md).

Members may be added without notice. Removing one, or changing its meaning, takes a
new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Sequence
from itertools import zip_longest
from typing import Any

from torchtraceap import _core
from torchtraceap._core import Balance, CriticalPath, Finding, Step, Window
from torchtraceap.data.detector_choice import OFF
from torchtraceap.detection import CALIBRATED_FOR
from torchtraceap.detection.detection import SIDES, Detection
from torchtraceap.report_data import ReportData

SCHEMA_VERSION = 4
MOST = 10_000  #: Of each list.


def report_form(report: ReportData, *, with_detector: bool = True) -> dict[str, object]:
    """Return `report` as what ``json.dumps`` takes; on request as far as it is exact,
    for which no detector is run."""
    detection = report.detection if with_detector else Detection(OFF, "it is left out")
    every = report.windows if with_detector else report.rule_windows
    findings = report.findings if with_detector else report.rule_findings
    windows = _first_windows(report, every)
    shown = {window.index for window, _ in windows}
    steps, paths = report.first_steps(MOST), report.first_critical_paths(MOST)
    # The first is the whole trace's; none, if it cannot be replayed.
    more_paths = max(0, report.step_count + 1 - len(paths)) if paths else 0
    trace = report.trace
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "torchtraceap", "version": _core.__version__},
        "trace": {
            **trace.to_dict(),
            "span_us": trace.span_us,
            "steps": report.step_count,
            "quality": report.quality.to_dict(),
        },
        "settings": report.settings,
        "rules": [outcome.to_dict() for outcome in report.rules],
        "replay": _replay_form(report, paths),
        "answer": report.answer.to_dict(),
        "story": [stage.to_dict() for stage in report.story],
        "balance": [_balance_form(row) for row in report.balance],
        "steps": [_step_form(step) for step in steps],
        "engine_kinds": [row.to_dict() for row in report.engine_kinds],
        "engine_steps": [row.to_dict() for row in report.engine_steps[:MOST]],
        "collectives": [row.to_dict() for row in report.collectives[:MOST]],
        "graphs": [row.to_dict() for row in report.graphs[:MOST]],
        "utilization": [row.to_dict() for row in report.utilization[:MOST]],
        "roofline": [row.to_dict() for row in report.roofline[:MOST]],
        "threads": [thread.to_dict() for thread in report.threads],
        "memory": [row.to_dict() for row in report.memory],
        "unexplained": [stretch.to_dict() for stretch in report.unexplained],
        "windows": [_window_form(window, share) for window, share in windows],
        "findings": [_finding_form(finding, shown) for finding in findings],
        "detector": detector_form(detection),
        "second_opinion": _opinion_form(report) if with_detector else None,
        "unlisted": {
            "steps": report.step_count - len(steps),
            "roofline": max(0, len(report.roofline) - MOST),
            "engine_steps": max(0, len(report.engine_steps) - MOST),
            "collectives": max(0, len(report.collectives) - MOST),
            "graphs": max(0, len(report.graphs) - MOST),
            "utilization": max(0, len(report.utilization) - MOST),
            "windows": len(every) - len(windows),
            "critical_paths": more_paths,
        },
    }


def json_text(value: object, indent: int | None = 1) -> str:
    """Return `value` as JSON in plain ASCII, so that any terminal can take it."""
    return json.dumps(value, indent=indent, ensure_ascii=True, allow_nan=False)


def detector_form(detection: Detection) -> dict[str, Any]:
    """Return who the detector was, what it was asked and how far rules agree."""
    return {
        **members(detection, "run", "why", "name", "weights", "device"),
        # Thresholds of another network promise nothing of this one.
        "false_alarms": None
        if CALIBRATED_FOR in detection.card
        else detection.false_alarms,
        # JSON has no infinity.
        "thresholds": {
            side: value if math.isfinite(value) else None
            for side, value in zip(SIDES, detection.thresholds, strict=True)
        },
        "flagged_windows": detection.counts.flagged,
        "abstained_windows": detection.counts.abstained,
        "agree": {
            side: detection.agreement(number).to_dict()
            for number, side in enumerate(SIDES)
        },
        "seconds": {"load": detection.load_seconds, "score": detection.score_seconds}
        if detection.run
        else None,
    }


def _opinion_form(report: ReportData) -> dict[str, Any] | None:
    if not report.opinions:
        return None
    return {
        "opinions": [opinion.to_dict() for opinion in report.opinions],
        "ranking": [row.finding.id for row in report.ranking],
    }


def members(record: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a record by their names."""
    return {name: getattr(record, name) for name in names}


def _first_windows(
    report: ReportData, windows: Sequence[Window]
) -> list[tuple[Window, float | None]]:
    """Return the windows in which a fix saves most, then flagged ones, in their order,
    each with the share of it that goes when all findings are fixed."""
    pairs = list(zip_longest(windows, report.recovery.windows))
    if len(pairs) > MOST:
        # Windows that only the model flags waste no proven time; they come before
        # windows without a flag.
        pairs.sort(
            key=lambda pair: (-pair[0].saved_us, not pair[0].labels, pair[0].index)
        )
        pairs = sorted(pairs[:MOST], key=lambda pair: pair[0].index)
    return pairs


def _replay_form(report: ReportData, paths: Sequence[CriticalPath]) -> dict[str, Any]:
    form = report.recovery.to_dict()
    del form["gains"], form["windows"]  # The findings and windows have them.
    form["refusal"] = form["refusal"] or None
    return form | {"critical_paths": [path.to_dict() for path in paths]}


def _balance_form(row: Balance) -> dict[str, Any]:
    form = row.to_dict()
    form["idle_us"]["unattributed"] = form.pop("unattributed_us")
    return form


def _step_form(step: Step) -> dict[str, Any]:
    balance = step.balance and _balance_form(step.balance)
    return step.to_dict() | {"balance": balance}


def _window_form(window: Window, recoverable: float | None) -> dict[str, Any]:
    return window.to_dict() | {"recoverable_fraction": recoverable}


def _finding_form(finding: Finding, shown: Container[int]) -> dict[str, Any]:
    windows = [index for index in finding.windows if index in shown]
    return finding.to_dict() | {"windows": windows}
