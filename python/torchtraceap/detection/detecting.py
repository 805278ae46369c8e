# SPDX-License-Identifier: BSD-3-Clause
"""detecting.py: asks the model about a report, or says why it was not asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from torchtraceap import _core
from torchtraceap.data.detector_choice import AUTO, OFF, VARIABLE
from torchtraceap.data.features import Features
from torchtraceap.detection import NOT_ASKED
from torchtraceap.detection.detection import (
    EVENTS,
    FALSE_ALARMS,
    LIKELIER,
    Detection,
)
from torchtraceap.detection.model import CPU, LoadedModel, load_model, untold_seconds

#: Tolerated failures of a model that was not requested by name.
_FAILURES = (ImportError, ValueError, OSError, RuntimeError, MemoryError)
_UNLIKE = "the trace is unlike those that it learned from"


def detect(
    choice: str, report: _core.Report, read_features: Callable[[], Features]
) -> Detection:
    """Return the verdict of the requested model on a report, unless its trace is
    unusable.

    The first call in a process loads torch and the weights. With "auto" nothing that
    is missing or wrong is an error.

    Raises ValueError if a file of weights that was named cannot be used.
    """
    if choice == OFF:
        return Detection("off", "it is switched off")
    if report.quality.verdict == "unusable":
        return Detection("unusable", "the trace is unusable")
    if report.window_count == 0:
        return Detection("empty", "the trace has no windows")
    try:
        path = None if choice == AUTO else choice
        loaded = load_model(path)
        begin = time.perf_counter()
        features = read_features()
        claimed = report.claimed_shares()
        try:
            said = loaded.say(features, EVENTS, claimed)
        except RuntimeError:
            # A GPU that the program in which this runs has filled, or may not fork.
            if loaded.device == CPU:
                raise
            loaded = load_model(path, CPU)
            said = loaded.say(features, EVENTS, claimed)
    except _FAILURES as error:
        # Of what torch throws the rest is where in torch it was.
        why = str(error).partition("\n")[0] or "there is not enough memory"
        if choice == AUTO:
            missing = isinstance(error, ImportError)
            return Detection("missing" if missing else "failed", why)
        named = os.environ.get(VARIABLE) == choice
        raise ValueError(f"{why} ({VARIABLE} names it.)" if named else why) from error
    return _detection(
        loaded,
        said,
        report,
        features,
        load_seconds=untold_seconds(),
        score_seconds=time.perf_counter() - begin,
    )


def _detection(
    loaded: LoadedModel,
    said: dict[str, Any],
    report: _core.Report,
    features: Features,
    **seconds: float,
) -> Detection:
    model = loaded.model
    thresholds = thresholds_of(model)
    verdicts = report.model_verdicts(
        probability=said["probability"],
        types=said["types"],
        recoverable=said["recoverable"],
        strangeness=said["strangeness"],
        events=said["events"],
        token_rows=features.row,
        patterns=model.patterns,
        # Nor is it asked for a pattern that this version does not have.
        not_asked=[*model.card.get(NOT_ASKED, "").split(", "), *model.unknown_patterns],
        thresholds=thresholds,
        window_from=model.window_from,
        trace_from=model.trace_from,
    )
    return Detection(
        status="run",
        why=_UNLIKE if verdicts.strange else None,
        weights=loaded.path,
        card=dict(model.card),
        device=loaded.device,
        thresholds=thresholds,
        patterns=tuple(model.patterns),
        types=said["types"],
        recoverable=said["recoverable"],
        verdicts=verdicts,
        **seconds,
    )


def thresholds_of(model: Any) -> tuple[float, float]:
    """Return above which probability a window is flagged on each side: that which keeps
    the promise of FALSE_ALARMS, and nowhere less than LIKELIER."""
    cpu, gpu = (max(LIKELIER, model.threshold(side, FALSE_ALARMS)) for side in (0, 1))
    return cpu, gpu
