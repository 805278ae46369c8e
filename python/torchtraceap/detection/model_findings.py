# SPDX-License-Identifier: BSD-3-Clause
"""model_findings.py: windows that the model flags and no rule explains, as findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torchtraceap.detection.detection import SIDES
from torchtraceap.detection.model_windows import MODEL
from torchtraceap.events import read_events
from torchtraceap.findings import UNEXPLAINED, Finding, finding_id
from torchtraceap.location import Location, read_location
from torchtraceap.units import counted, share_text, time_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torchtraceap.detection.detection import Detection
    from torchtraceap.report import Report

_MOST = 10  # Places; what is left is one finding without a place, as for rules.
_MOST_EVENTS = 8
_ADVICE = (
    "No rule knows what this is: look at these events in the timeline (--html) or in "
    "Perfetto. If it is nothing, or you find out, torchtraceap analyze --review FILE "
    "lists such windows for you to say so."
)


@dataclass(frozen=True)
class _Group:
    """Windows with one place."""

    windows: list[int]
    location: Location | None
    operator: str


def model_findings(report: Report, detection: Detection) -> tuple[Finding, ...]:
    """Return a finding for each place, that of which most could be saved first.

    They claim no time and are graded "low": rules prove, a model points.
    """
    runs = list(_runs(report, np.flatnonzero(detection.unexplained)))
    if not runs:
        return ()
    groups = sorted(
        _groups(report, detection, runs),
        key=lambda group: -_saved_us(report, detection, group.windows),
    )
    if rest := [window for group in groups[_MOST:] for window in group.windows]:
        groups[_MOST:] = [_Group(sorted(rest), None, "")]
    taken = {finding.id for finding in report.rule_findings}
    return tuple(_finding(report, detection, group, taken) for group in groups)


def _runs(report: Report, chosen: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield neighbors of one device or process together."""
    windows = report.rule_windows
    run: list[int] = []
    for window in chosen.tolist():
        if run:
            last = windows[run[-1]]
            here = windows[window]
            if window != run[-1] + 1 or (last.device, last.pid) != (
                here.device,
                here.pid,
            ):
                yield run
                run = []
        run.append(window)
    if run:
        yield run


def _groups(
    report: Report, detection: Detection, runs: list[list[int]]
) -> list[_Group]:
    """Put runs of one place together: that of the event which the attention rests on
    most, in the window of which the model is surest."""
    rows = [int(detection.events[_surest(detection, run), 0]) for run in runs]
    known = [row for row in rows if row >= 0]
    frames = map(read_location, report._core.frames(known))
    places = dict(zip(known, frames, strict=True))
    groups: dict[object, _Group] = {}
    for run, row in zip(runs, rows, strict=True):
        location = places.get(row)
        name = "" if location or row < 0 else report.loaded.name(row)
        key = location and (location.file, location.recorded_line, location.function)
        group = groups.setdefault(key or name, _Group([], location, name))
        group.windows.extend(run)
    return list(groups.values())


def _strength(detection: Detection, windows: list[int]) -> NDArray[np.float32]:
    flagged = detection.flagged[windows]
    return np.where(flagged, detection.probability[windows], -1).astype(np.float32)


def _surest(detection: Detection, windows: list[int]) -> int:
    return windows[int(np.argmax(_strength(detection, windows).max(axis=1)))]


def _saved_us(report: Report, detection: Detection, windows: list[int]) -> float:
    return sum(
        float(detection.recoverable[window]) * report.rule_windows[window].duration_us
        for window in windows
    )


def _finding(
    report: Report, detection: Detection, group: _Group, taken: set[str]
) -> Finding:
    windows = sorted(group.windows)
    surest = _surest(detection, windows)
    side = int(np.argmax(_strength(detection, [surest])[0]))
    order = np.argsort(-_strength(detection, windows).max(axis=1), kind="stable")
    rows = detection.events[np.array(windows)[order]].ravel()
    events = list(dict.fromkeys(rows[rows >= 0].tolist()))[:_MOST_EVENTS]
    where = group.location
    place = (where.file, where.line, where.function) if where else group.operator
    rule_windows = report.rule_windows
    pids = dict.fromkeys(rule_windows[window].pid for window in windows)
    return Finding(
        id=finding_id(UNEXPLAINED, (place,), taken),
        pattern=UNEXPLAINED,
        subtype="",
        side=SIDES[side],
        severity="low",
        count=len(windows),
        basis="model",
        location=where,
        operator=group.operator,
        message=_message(report, detection, windows, surest, side),
        advice=_ADVICE,
        windows=tuple(windows),
        events=read_events(report.loaded, events),
        processes=tuple(pid for pid in pids if pid is not None),
        origin=MODEL,
    )


def _message(
    report: Report, detection: Detection, windows: list[int], surest: int, side: int
) -> str:
    length_us = sum(report.rule_windows[window].duration_us for window in windows)
    upto = "up to " if len(windows) > 1 else ""
    probability = share_text(float(detection.probability[surest, side]), 1)
    return (
        f"No rule explains {counted(len(windows), 'window')} here "
        f"({time_text(length_us)}) of which the learned detector says, with a "
        f"probability of {upto}{probability}, that something on the "
        f"{SIDES[side].upper()}'s side costs 5 % and more, most likely "
        f"{detection.guessed(surest, side)}. It guesses that "
        f"{time_text(_saved_us(report, detection, windows))} could be saved. The "
        "events are those that it looked at most."
    )
