# SPDX-License-Identifier: BSD-3-Clause
"""json_form.py: a report in its JSON form.

To write 100,000 steps, windows and paths took 22 s and 2.45 GB. The tables have all
steps and windows (docs/outputs.md).

Members may be added without notice. Removing one, or changing what it means, takes a
new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.base.location import Location
from torchtraceap.data.wish import OFF
from torchtraceap.detection import CALIBRATED_FOR
from torchtraceap.detection.detection import SIDES

if TYPE_CHECKING:
    from torchtraceap.base.source_lines import Line
    from torchtraceap.data.events import Event, Unexplained, Window
    from torchtraceap.data.facts import Balance, Quality, Step
    from torchtraceap.data.findings import Finding
    from torchtraceap.data.replay import CriticalPath
    from torchtraceap.detection.detection import Detection
    from torchtraceap.report_data import ReportData

#: Of each list.
MOST = 10_000


@dataclass(frozen=True)
class LongLists:
    """What is listed, and how many more there are."""

    steps: tuple[Step, ...]
    step_count: int
    #: With the share of each that goes when all findings are fixed.
    windows: list[tuple[Window, float | None]]
    paths: tuple[CriticalPath, ...]
    unlisted: dict[str, int]


def long_lists(report: ReportData, windows: Sequence[Window]) -> LongLists:
    """Return the first steps and their paths, and of all windows, with the labels that
    are to be shown, those that waste most, then those that are flagged."""
    steps = report.first_steps(MOST)
    count = report.step_count
    paths = (
        report.critical_paths if count <= MOST else report.first_critical_paths(MOST)
    )
    pairs = list(zip_longest(windows, report.recovery.windows))
    whole = len(pairs)
    if whole > MOST:
        # What only the model flags wastes nothing that is proven, and is shown before
        # what nobody flags.
        pairs.sort(
            key=lambda pair: (-pair[0].wasted_us, not pair[0].labels, pair[0].index)
        )
        pairs = sorted(pairs[:MOST], key=lambda pair: pair[0].index)
    return LongLists(
        steps,
        count,
        pairs,
        paths,
        {
            "steps": count - len(steps),
            "windows": whole - len(pairs),
            # The first is the whole trace's; none, if it cannot be replayed.
            "critical_paths": max(0, count + 1 - len(paths)) if paths else 0,
        },
    )


def detector_form(detection: Detection) -> dict[str, Any]:
    """Return who the detector was, what it was asked and how far rules agree."""
    run = detection.run
    return {
        "run": run,
        "why": detection.why,
        "name": detection.name,
        "weights": detection.weights,
        "device": detection.device,
        # Thresholds of another network promise nothing of this one.
        "false_alarms": None
        if CALIBRATED_FOR in detection.card
        else detection.false_alarms,
        # JSON has no infinity.
        "thresholds": {
            side: value if math.isfinite(value) else None
            for side, value in zip(SIDES, detection.thresholds, strict=True)
        },
        "flagged_windows": int(detection.flagged.any(axis=1).sum()),
        "abstained_windows": int(detection.abstained.sum()),
        "agree": {
            side: asdict(detection.agreement(number))
            for number, side in enumerate(SIDES)
        },
        "seconds": {
            "load": detection.load_seconds,
            "score": detection.score_seconds,
        }
        if run
        else None,
    }


SCHEMA_VERSION = 4


def report_form(report: ReportData, *, with_detector: bool = True) -> dict[str, object]:
    """Return `report` as what ``json.dumps`` takes; on request as far as it is exact,
    for which no detector is run."""
    from torchtraceap.detection.detection import Detection

    detection = report.detection if with_detector else Detection(OFF, "it is left out")
    windows = report.windows if with_detector else report.rule_windows
    findings = report.findings if with_detector else report.rule_findings
    lists = long_lists(report, windows)
    shown = {window.index for window, _ in lists.windows}
    trace = report.trace
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "torchtraceap", "version": _core.__version__},
        "trace": {
            "path": trace.path,
            "events": trace.events,
            "span_us": trace.span_us,
            "devices": [
                {"id": d.id, "name": d.name, "events": d.events} for d in trace.devices
            ],
            "rank": trace.rank,
            "world_size": trace.world_size,
            "processes": trace.processes,
            "simulated": trace.simulated and asdict(trace.simulated),
            "steps": lists.step_count,
            "quality": quality_form(report.quality),
        },
        "settings": report.settings,
        "rules": [asdict(outcome) for outcome in report.rules],
        "replay": _replay_form(report, lists.paths),
        "story": [asdict(stage) for stage in report.story],
        "balance": [_balance_form(row) for row in report.balance],
        "steps": [_step_form(step) for step in lists.steps],
        "threads": [asdict(thread) for thread in report.threads],
        "unexplained": [_unexplained_form(stretch) for stretch in report.unexplained],
        "windows": [_window_form(window, share) for window, share in lists.windows],
        "findings": [_finding_form(finding, shown) for finding in findings],
        "detector": detector_form(detection),
        "unlisted": lists.unlisted,
    }


def json_text(value: object, indent: int | None = 1) -> str:
    """Return `value` as JSON in plain ASCII, so that any terminal can take it."""
    return json.dumps(value, indent=indent, ensure_ascii=True, allow_nan=False)


def quality_form(quality: Quality) -> dict[str, Any]:
    """Return how far a trace can be trusted."""
    return {
        "verdict": quality.verdict,
        "incomplete": quality.incomplete,
        "linking_rate": quality.linking_rate,
        "warnings": [asdict(note) for note in quality.warnings],
    }


def _replay_form(report: ReportData, paths: Sequence[CriticalPath]) -> dict[str, Any]:
    recovery = report.recovery
    form = {
        "refusal": recovery.refusal or None,
        "fidelity": recovery.fidelity and asdict(recovery.fidelity),
        "doubts": list(recovery.doubts),
        "together": recovery.together and asdict(recovery.together),
        "critical_paths": [asdict(path) for path in paths],
    }
    plain: dict[str, Any] = _lists(form)
    return plain


def _lists(value: Any) -> Any:
    """Return `value` with a list for each tuple, as JSON gives it back."""
    if isinstance(value, dict):
        return {key: _lists(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(member) for member in value]
    return value


def _balance_form(row: Balance) -> dict[str, Any]:
    return {
        "device": row.device,
        "pid": row.pid,
        "span_us": row.span_us,
        "busy_us": row.busy_us,
        "idle_us": {**row.idle_us, "unattributed": row.unattributed_us},
        "delay_us": row.delay_us,
        "excess_us": row.excess_us,
    }


def _step_form(step: Step) -> dict[str, Any]:
    balance = step.balance
    return {
        "number": step.number,
        "pid": step.pid,
        "start_us": step.start_us,
        "end_us": step.end_us,
        "busy_us": step.busy_us,
        "balance": balance
        and {
            "devices": balance.devices,
            "device": balance.device,
            "span_us": balance.span_us,
            "busy_us": balance.busy_us,
            "idle_us": {
                **balance.idle_us,
                "unattributed": balance.unattributed_us,
            },
            "excess_us": balance.excess_us,
        },
    }


def _unexplained_form(stretch: Unexplained) -> dict[str, Any]:
    return {
        "device": stretch.device,
        "pid": stretch.pid,
        "start_us": stretch.start_us,
        "end_us": stretch.end_us,
        "during": stretch.during and _event_form(stretch.during),
    }


def _event_form(event: Event) -> dict[str, Any]:
    return {
        "index": event.index,
        "name": event.name,
        "start_us": event.start_us,
        "duration_us": event.duration_us,
    }


def _window_form(window: Window, recoverable: float | None) -> dict[str, Any]:
    return {
        "index": window.index,
        "start_us": window.start_us,
        "end_us": window.end_us,
        "step": window.step,
        "device": window.device,
        "pid": window.pid,
        "cpu_wasted_fraction": window.cpu_wasted_fraction,
        "gpu_wasted_fraction": window.gpu_wasted_fraction,
        "cpu_probability": window.cpu_probability,
        "gpu_probability": window.gpu_probability,
        "recoverable_fraction": recoverable,
        "labels": [
            {
                "pattern": label.pattern,
                "side": label.side,
                "wasted_fraction": label.wasted_fraction,
                "saved_fraction": label.saved_fraction,
                "origin": label.origin,
                "wasted_us": label.wasted_us,
                "probability": label.probability,
            }
            for label in window.labels
        ],
    }


def location_form(where: Location | Line | None) -> dict[str, Any] | None:
    """Return a place of the user's code; None without one."""
    if where is None:
        return None
    form: dict[str, Any] = {
        "file": where.file,
        "line": where.line,
        "function": where.function,
    }
    if isinstance(where, Location):
        form["recorded_line"] = where.recorded_line
        form["recorded_at"] = where.recorded_at
    return form


def _finding_form(finding: Finding, shown: Container[int]) -> dict[str, Any]:
    return {
        "id": finding.id,
        "pattern": finding.pattern,
        "subtype": finding.subtype or None,
        "side": finding.side,
        "severity": finding.severity,
        "origin": finding.origin,
        "count": finding.count,
        "wasted_us": finding.wasted_us,
        "basis": finding.basis,
        "recoverable_us": finding.recoverable_us,
        "recoverable_low_us": finding.recoverable_low_us,
        "recoverable_fraction": finding.recoverable_fraction,
        "shares_gain_with": list(finding.shares_gain_with),
        "edit": finding.edit,
        "location": location_form(finding.location),
        "deepest": location_form(finding.deepest),
        "operator": finding.operator,
        "processes": list(finding.processes),
        "windows": [index for index in finding.windows if index in shown],
        "events": [_event_form(event) for event in finding.events],
        "message": finding.message,
        "advice": finding.advice,
        "docs": finding.docs,
    }
