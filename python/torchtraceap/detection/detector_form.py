# SPDX-License-Identifier: BSD-3-Clause
"""detector_form.py: the detector in the JSON form of a report."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torchtraceap.detection import CALIBRATED_FOR
from torchtraceap.detection.detection import SIDES

if TYPE_CHECKING:
    from torchtraceap.detection.detection import Detection


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
