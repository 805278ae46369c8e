# SPDX-License-Identifier: BSD-3-Clause
"""said.py: what the learned detector says, as labels of windows and as findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby

import numpy as np

from torchtraceap import _core
from torchtraceap._core import Finding, Label, Location, Window
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.findings import UNEXPLAINED
from torchtraceap.detection.detection import SIDES, Detection

#: Who says so, of labels and findings of the model.
MODEL = "model"
_MOST = 10  # Places; what is left is one finding without a place, as for rules.
_MOST_EVENTS = 8
_ADVICE = (
    "No rule knows what this is: look at these events in the timeline (--html) or in "
    "Perfetto. If it is nothing, or you find out, torchtraceap analyze --review FILE "
    "lists such windows for you to say so."
)


def with_model(windows: tuple[Window, ...], detection: Detection) -> tuple[Window, ...]:
    """Return the windows with probabilities, and a label for each flagged side after
    those of rules; as they are if no model was run."""
    if not detection.run:
        return windows
    return tuple(
        window.replace(
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
    if not detection.unexplained.any():
        return ()
    unexplained = _Unexplained(core, trace, windows, detection)
    groups = unexplained.groups()
    groups.sort(key=lambda group: -unexplained.saved_us(group.windows))
    if rest := [window for group in groups[_MOST:] for window in group.windows]:
        groups[_MOST:] = [_Group(sorted(rest), None, "")]
    return tuple(map(unexplained.finding, groups))


class _Unexplained:
    """Windows of which the model says something and no rule does."""

    def __init__(
        self,
        core: _core.Report,
        trace: _core.Trace,
        windows: tuple[Window, ...],
        detection: Detection,
    ) -> None:
        self._core = core
        self._trace = trace
        self._windows = windows
        self._detection = detection
        self._strength = np.where(detection.flagged, detection.probability, -1)
        self._ids = Counter[str]()

    def groups(self) -> list[_Group]:
        """Put runs of one place together: that of the event which the attention rests
        on most, in the window of which the model is surest."""
        runs = list(self._runs())
        rows = [int(self._detection.events[self._surest(run), 0]) for run in runs]
        known = [row for row in rows if row >= 0]
        frames = self._core.frames(known)
        places = dict(zip(known, frames, strict=True))
        groups: dict[object, _Group] = {}
        for run, row in zip(runs, rows, strict=True):
            location = places.get(row)
            name = "" if location or row < 0 else self._trace.name(row)
            key = location and (
                location.file,
                location.recorded_line,
                location.function,
            )
            group = groups.setdefault(key or name, _Group([], location, name))
            group.windows.extend(run)
        return list(groups.values())

    def saved_us(self, chosen: list[int]) -> float:
        """Return what the model guesses could be saved of some windows."""
        return sum(
            float(self._detection.recoverable[window])
            * self._windows[window].duration_us
            for window in chosen
        )

    def finding(self, group: _Group) -> Finding:
        """Make a finding of the windows of one place."""
        chosen = sorted(group.windows)
        surest = self._surest(chosen)
        side = int(np.argmax(self._strength[surest]))
        order = np.argsort(-self._strength[chosen].max(axis=1), kind="stable")
        rows = self._detection.events[np.array(chosen)[order]].ravel()
        events = list(dict.fromkeys(rows[rows >= 0].tolist()))[:_MOST_EVENTS]
        pids = dict.fromkeys(self._windows[window].pid for window in chosen)
        return Finding(
            id=self._id(group),
            pattern=UNEXPLAINED,
            side=SIDES[side],
            severity="low",
            count=len(chosen),
            basis="model",
            location=group.location,
            operator=group.operator,
            message=self._message(chosen, surest, side),
            advice=_ADVICE,
            windows=tuple(chosen),
            events=self._core.events(events),
            processes=tuple(pid for pid in pids if pid is not None),
            origin=MODEL,
            docs="docs/detector.md",
        )

    def _runs(self) -> Iterator[list[int]]:
        """Yield neighbors of one device or process together."""
        chosen = np.flatnonzero(self._detection.unexplained).tolist()
        for _, run in groupby(enumerate(chosen), self._neighbors):
            yield [window for _, window in run]

    def _neighbors(self, numbered: tuple[int, int]) -> object:
        number, index = numbered
        window = self._windows[index]
        return index - number, window.device, window.pid  # A row goes up as its number.

    def _surest(self, windows: list[int]) -> int:
        return windows[int(np.argmax(self._strength[windows].max(axis=1)))]

    def _id(self, group: _Group) -> str:
        # The core makes the ids of its own findings: of a pattern, which this is not.
        where = group.location
        place = (where.file, where.line, where.function) if where else group.operator
        digest = sha256(repr((place,)).encode("utf-8", "backslashreplace"))
        name = f"{UNEXPLAINED}-{digest.hexdigest()[:8]}"
        self._ids[name] += 1
        # Of two functions of one name and file whose lines are not known.
        return name if self._ids[name] == 1 else f"{name}-{self._ids[name]}"

    def _message(self, chosen: list[int], surest: int, side: int) -> str:
        length_us = sum(self._windows[window].duration_us for window in chosen)
        upto = "up to " if len(chosen) > 1 else ""
        probability = share_text(float(self._detection.probability[surest, side]), 1)
        return (
            f"No rule explains {counted(len(chosen), 'window')} here "
            f"({time_text(length_us)}) of which the learned detector says, with a "
            f"probability of {upto}{probability}, that something on the "
            f"{SIDES[side].upper()}'s side costs 5 % and more, most likely "
            f"{self._detection.guessed(surest, side)}. It guesses that "
            f"{time_text(self.saved_us(chosen))} could be saved. The events are those "
            "that it looked at most."
        )
