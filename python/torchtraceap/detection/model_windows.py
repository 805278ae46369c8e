# SPDX-License-Identifier: BSD-3-Clause
"""model_windows.py: what the model says of windows, beside the labels of rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchtraceap.detection.detection import SIDES
from torchtraceap.windows import Label, Window

if TYPE_CHECKING:
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
