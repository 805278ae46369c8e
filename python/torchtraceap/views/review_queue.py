# SPDX-License-Identifier: BSD-3-Clause
"""review_queue.py: windows worth reviewing, as labels for training.

Each is a dict that JSON takes; the person fills in ``cpu``, ``gpu`` and ``pattern``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core
from torchtraceap.data.opinion import LLM, NONE
from torchtraceap.detection.detection import SIDES, Detection
from torchtraceap.report_data import ReportData
from torchtraceap.views.json_form import members

#: Windows in a queue by default.
MOST = 50
_MOST_ALIKE = 5  # Windows of one place and guess: a loop repeats the same ones.


def review_queue(report: ReportData, most: int = MOST) -> list[dict[str, Any]]:
    """Return at most ``most`` windows, the most useful first: those on which rules and
    model disagree, the surest of these first; then those nearest to a threshold.
    Windows in which the model follows the rules are left out.

    Raises ValueError if no model was run.
    """
    detection = report.detection
    if detection.status in ("off", "missing", "failed"):
        raise ValueError(f"the learned detector was not run: {detection.why}")
    ordered = _ordered(detection)
    # Enough to find as many that are not alike, without asking for every place.
    ordered = ordered[: most * _MOST_ALIKE * 4]
    rows = detection.events[ordered, 0].tolist() if len(ordered) else []
    known = [row for row in rows if row >= 0]
    frames = report.frames(known)
    places = dict(zip(known, frames, strict=True))
    alike: Counter[tuple[object, ...]] = Counter()
    queue: list[dict[str, Any]] = []
    for window, row in zip(ordered.tolist(), rows, strict=True):
        place = places.get(row)
        name = report.loaded.name(row) if row >= 0 else ""
        kind = (str(place or name), *detection.guess[window].tolist())
        alike[kind] += 1
        if alike[kind] <= _MOST_ALIKE and len(queue) < most:
            queue.append(_line(report, window, str(place) if place else None))
    return queue


def pseudo_labels(report: ReportData) -> list[dict[str, Any]]:
    """Return the windows for which a language model named a pattern, or none, as lines
    of a queue that it has answered: ``by`` names the model.

    A pattern labels only its own side of the window, and a pattern of a device labels
    nothing if the window has no device.
    """
    side_of = {pattern.name: pattern.side for pattern in _core.patterns()}
    lines: list[dict[str, Any]] = []
    for opinion in report.opinions:
        word, _, index = opinion.subject.partition(" ")
        if word != "window" or opinion.pattern is None:
            continue
        line = _line(report, int(index), None) | {"by": f"{LLM}:{opinion.model}"}
        sides = SIDES if line["device"] is not None else SIDES[:1]
        if opinion.pattern == NONE:
            lines.append(line | dict.fromkeys(sides, False))
        elif (side := side_of[opinion.pattern]) in sides:
            lines.append(line | {side: True, "pattern": opinion.pattern})
    return lines


def _ordered(detection: Detection) -> NDArray[np.int64]:
    thresholds = np.array(detection.thresholds)
    # A file without calibration lacks thresholds: use the windows nearest to a toss.
    thresholds = np.where(np.isfinite(thresholds), thresholds, 0.5)
    judged, differs = detection.judged, detection.differs
    distance = np.abs(np.nan_to_num(detection.probability) - thresholds)
    surest = np.where(differs, distance, -1.0).max(axis=1, initial=-1.0)
    nearest = np.where(judged, distance, np.inf).min(axis=1, initial=np.inf)
    key = np.where(differs.any(axis=1), -1.0 - surest, nearest)
    order = np.argsort(key, kind="stable")
    listed: NDArray[np.int64] = order[np.any(judged, axis=1)[order]]
    return listed


def _line(report: ReportData, number: int, place: str | None) -> dict[str, Any]:
    window, detection = report.windows[number], report.detection
    rows = detection.events[number : number + 1].ravel()  # None if no model was run.
    guess: dict[str, str | None] = {
        side: detection.guessed(number, i)
        if detection.run and detection.judged[number, i]
        else None
        for i, side in enumerate(SIDES)
    }
    return {
        "trace": report.trace.path,
        "window": window.index,
        **members(window, "start_us", "end_us", "step", "device"),
        **members(window, "cpu_probability", "gpu_probability"),
        "rules": [
            members(label, "pattern", "saved_fraction") for label in window.rule_labels
        ],
        "guess": guess,
        "place": place,
        "events": [report.loaded.name(row) for row in rows[rows >= 0].tolist()],
        "cpu": None,
        "gpu": None,
        "pattern": None,
    }
