# SPDX-License-Identifier: BSD-3-Clause
"""said.py: what the learned detector says, as labels of windows and as findings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from torchtraceap import _core
from torchtraceap.base.location import Location, read_location
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.events import Label, Window, read_events
from torchtraceap.data.findings import UNEXPLAINED, Finding
from torchtraceap.detection.detection import SIDES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torchtraceap.detection.detection import Detection

#: Who says so, of labels and findings of the model.
MODEL = "model"


def with_model(windows: tuple[Window, ...], detection: Detection) -> tuple[Window, ...]:
    """Return the windows with probabilities, and a label for each flagged side after
    those of rules; as they are if no model was run."""
    if not detection.run:
        return windows
    return tuple(
        replace(
            window,
            labels=(*window.labels, *_labels(number, detection)),
            cpu_probability=detection.told(number, 0),
            gpu_probability=detection.told(number, 1),
        )
        for number, window in enumerate(windows)
    )


def _labels(window: int, detection: Detection) -> Iterator[Label]:
    for number, side in enumerate(SIDES):
        if detection.flagged[window, number]:
            yield Label(
                pattern=detection.guessed(window, number),
                side=side,
                # The accounting is exact, and the rules': a model claims no time.
                wasted_fraction=0.0,
                saved_fraction=float(detection.recoverable[window]),
                origin=MODEL,
                wasted_us=0.0,
                probability=detection.told(window, number),
            )


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


def model_findings(
    core: _core.Report,
    trace: _core.Trace,
    windows: tuple[Window, ...],
    detection: Detection,
) -> tuple[Finding, ...]:
    """Return a finding for each place, that of which most could be saved first.

    They claim no time and are graded "low": rules prove, a model points.

    Args:
        core: The analysis, for the places of events.
        trace: Its trace.
        windows: Its windows, with the labels of rules.
        detection: What the model says of each.
    """
    runs = list(_runs(windows, np.flatnonzero(detection.unexplained)))
    if not runs:
        return ()
    groups = sorted(
        _groups(core, trace, detection, runs),
        key=lambda group: -_saved_us(windows, detection, group.windows),
    )
    if rest := [window for group in groups[_MOST:] for window in group.windows]:
        groups[_MOST:] = [_Group(sorted(rest), None, "")]
    return tuple(_finding(trace, windows, detection, group) for group in groups)


def _runs(
    windows: tuple[Window, ...], chosen: NDArray[np.int64]
) -> Iterator[list[int]]:
    """Yield neighbors of one device or process together."""
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
    core: _core.Report, trace: _core.Trace, detection: Detection, runs: list[list[int]]
) -> list[_Group]:
    """Put runs of one place together: that of the event which the attention rests on
    most, in the window of which the model is surest."""
    rows = [int(detection.events[_surest(detection, run), 0]) for run in runs]
    known = [row for row in rows if row >= 0]
    frames = map(read_location, core.frames(known))
    places = dict(zip(known, frames, strict=True))
    groups: dict[object, _Group] = {}
    for run, row in zip(runs, rows, strict=True):
        location = places.get(row)
        name = "" if location or row < 0 else trace.name(row)
        key = location and (location.file, location.recorded_line, location.function)
        group = groups.setdefault(key or name, _Group([], location, name))
        group.windows.extend(run)
    return list(groups.values())


def _strength(detection: Detection, windows: list[int]) -> NDArray[np.float32]:
    flagged = detection.flagged[windows]
    return np.where(flagged, detection.probability[windows], -1).astype(np.float32)


def _surest(detection: Detection, windows: list[int]) -> int:
    return windows[int(np.argmax(_strength(detection, windows).max(axis=1)))]


def _saved_us(
    windows: tuple[Window, ...], detection: Detection, chosen: list[int]
) -> float:
    return sum(
        float(detection.recoverable[window]) * windows[window].duration_us
        for window in chosen
    )


def _finding(
    trace: _core.Trace,
    windows: tuple[Window, ...],
    detection: Detection,
    group: _Group,
) -> Finding:
    chosen = sorted(group.windows)
    surest = _surest(detection, chosen)
    side = int(np.argmax(_strength(detection, [surest])[0]))
    order = np.argsort(-_strength(detection, chosen).max(axis=1), kind="stable")
    rows = detection.events[np.array(chosen)[order]].ravel()
    events = list(dict.fromkeys(rows[rows >= 0].tolist()))[:_MOST_EVENTS]
    where = group.location
    place = (where.file, where.line, where.function) if where else group.operator
    pids = dict.fromkeys(windows[window].pid for window in chosen)
    return Finding(
        id=_id(place),
        pattern=UNEXPLAINED,
        subtype="",
        side=SIDES[side],
        severity="low",
        count=len(chosen),
        basis="model",
        location=where,
        operator=group.operator,
        message=_message(windows, detection, chosen, surest, side),
        advice=_ADVICE,
        windows=tuple(chosen),
        events=read_events(trace, events),
        processes=tuple(pid for pid in pids if pid is not None),
        origin=MODEL,
    )


def _id(place: object) -> str:
    # No two groups have one place, and no rule's pattern has this name.
    digest = hashlib.sha256(repr((place,)).encode("utf-8", "backslashreplace"))
    return f"{UNEXPLAINED}-{digest.hexdigest()[:8]}"


def _message(
    windows: tuple[Window, ...],
    detection: Detection,
    chosen: list[int],
    surest: int,
    side: int,
) -> str:
    length_us = sum(windows[window].duration_us for window in chosen)
    upto = "up to " if len(chosen) > 1 else ""
    probability = share_text(float(detection.probability[surest, side]), 1)
    return (
        f"No rule explains {counted(len(chosen), 'window')} here "
        f"({time_text(length_us)}) of which the learned detector says, with a "
        f"probability of {upto}{probability}, that something on the "
        f"{SIDES[side].upper()}'s side costs 5 % and more, most likely "
        f"{detection.guessed(surest, side)}. It guesses that "
        f"{time_text(_saved_us(windows, detection, chosen))} could be saved. The "
        "events are those that it looked at most."
    )
