# SPDX-License-Identifier: BSD-3-Clause
"""detecting.py: asks the model about a report, or says why it was not asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core
from torchtraceap._core import Window
from torchtraceap.data.features import Features
from torchtraceap.data.wish import AUTO, OFF, VARIABLE
from torchtraceap.detection import LOSS, NOT_ASKED
from torchtraceap.detection.detection import (
    EVENTS,
    FALSE_ALARMS,
    LIKELIER,
    SIDES,
    Detection,
    likely,
)
from torchtraceap.detection.model import CPU, LoadedModel, load_model, untold_seconds

#: Rules explain a window of which they say this much, on any side: less is what every
#: window has.
_EXPLAINED = 0.02
#: What may go wrong with a model of which nobody asked for by name.
_FAILURES = (ImportError, ValueError, OSError, RuntimeError, MemoryError)
_UNLIKE = "the trace is unlike those that it learned from"


def detect(
    wish: str,
    verdict: str,
    windows: Sequence[Window],
    read_features: Callable[[], Features],
) -> Detection:
    """Return what the model that is wished for says of a report: of its windows, with
    the labels of rules, where the verdict on its quality is not "unusable".

    The first call in a process loads torch and the weights. With "auto" nothing that
    is missing or wrong is an error.

    Raises ValueError if a file of weights that was named cannot be used.
    """
    if wish == OFF:
        return Detection("off", "it is switched off")
    if verdict == "unusable":
        return Detection("unusable", "the trace is unusable")
    if not windows:
        return Detection("empty", "the trace has no windows")
    try:
        path = None if wish == AUTO else wish
        loaded = load_model(path)
        begin = time.perf_counter()
        features = read_features()
        try:
            told = loaded.say(features, EVENTS)
        except RuntimeError:
            # A GPU that the program in which this runs has filled, or may not fork.
            if loaded.device == CPU:
                raise
            loaded = load_model(path, CPU)
            told = loaded.say(features, EVENTS)
    except _FAILURES as error:
        # Of what torch throws the rest is where in torch it was.
        why = str(error).partition("\n")[0] or "there is not enough memory"
        if wish == AUTO:
            missing = isinstance(error, ImportError)
            return Detection("missing" if missing else "failed", why)
        named = os.environ.get(VARIABLE) == wish
        raise ValueError(f"{why} ({VARIABLE} names it.)" if named else why) from error
    return _detection(
        loaded,
        told,
        _rows(told["events"], features),
        windows,
        load_seconds=untold_seconds(),
        score_seconds=time.perf_counter() - begin,
    )


def _detection(
    loaded: LoadedModel,
    told: dict[str, Any],
    events: NDArray[np.int64],
    windows: Sequence[Window],
    **seconds: float,
) -> Detection:
    model, patterns = loaded.model, tuple(loaded.model.patterns)
    strangeness = np.asarray(told["strangeness"])
    strange = bool(np.median(strangeness) > model.trace_from)
    abstained = (strangeness > model.window_from) | strange
    thresholds = thresholds_of(model)
    probability = np.array(told["probability"], np.float32)
    probability[abstained] = np.nan
    # A model that looks at the device's side of what has none says nothing.
    probability[[window.device is None for window in windows], 1] = np.nan
    flagged = probability > np.array(thresholds)
    # Nor is it asked for a pattern that this version does not have.
    not_asked = [*model.card.get(NOT_ASKED, "").split(", "), *model.unknown_patterns]
    by_rules, explained, named = _of_rules(windows, not_asked, patterns)
    guess = likely(np.asarray(told["types"]), patterns, not_asked)
    return Detection(
        status="run",
        why=_UNLIKE if strange else None,
        weights=loaded.path,
        card=dict(model.card),
        device=loaded.device,
        thresholds=thresholds,
        patterns=patterns,
        probability=probability,
        types=np.asarray(told["types"]),
        # Where rules name a pattern they are right more often (docs/detector.md).
        guess=np.where(by_rules & (named >= 0), named, guess),
        recoverable=np.asarray(told["recoverable"]),
        events=events,
        abstained=abstained,
        flagged=flagged,
        by_rules=by_rules,
        unexplained=flagged.any(axis=1) & ~explained,
        **seconds,
    )


def thresholds_of(model: Any) -> tuple[float, float]:
    """Return above which probability a window is flagged on each side: that which keeps
    the promise of FALSE_ALARMS, and nowhere less than LIKELIER."""
    cpu, gpu = (max(LIKELIER, model.threshold(side, FALSE_ALARMS)) for side in (0, 1))
    return cpu, gpu


def _rows(tokens: NDArray[np.int64], features: Features) -> NDArray[np.int64]:
    """Return the rows of the trace that tokens stand for; -1 stays."""
    if not len(features.row):
        return np.full(tokens.shape, -1, np.int64)
    return np.where(tokens >= 0, features.row[np.maximum(tokens, 0)].astype(int), -1)


def _of_rules(
    windows: Sequence[Window], not_asked: Sequence[str], patterns: Sequence[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Return by side, [n, 2], whether rules see a loss; [n], whether they explain
    anything of a window; by side, the number of the pattern that they blame most, -1
    for none that the model knows.

    Time of patterns that are nobody's fault, such as the profiler's, or that the model
    was never asked for is no loss, but explained.
    """
    left_out = {
        pattern.name for pattern in _core.patterns() if not pattern.user_finding
    }
    left_out.update(not_asked)
    wasted = np.zeros((len(windows), 2))
    saved = np.zeros((len(windows), 2))
    most = np.zeros(len(windows))
    blamed = np.full((len(windows), 2), -1, np.int64)
    blame = np.zeros((len(windows), 2))
    number_of = {name: number for number, name in enumerate(patterns)}
    for number, window in enumerate(windows):
        for label in window.labels:
            most[number] = max(most[number], label.saved_fraction)
            if label.pattern not in left_out:
                side = SIDES.index(label.side)
                wasted[number, side] += label.wasted_fraction
                saved[number, side] = max(saved[number, side], label.saved_fraction)
                share = max(label.saved_fraction, label.wasted_fraction)
                if share > blame[number, side] and label.pattern in number_of:
                    blame[number, side] = share
                    blamed[number, side] = number_of[label.pattern]
    cpu = np.array([window.cpu_wasted_fraction for window in windows])
    gpu = np.array([window.gpu_wasted_fraction for window in windows])
    explained = np.maximum(cpu + gpu, most) >= _EXPLAINED
    return np.maximum(wasted, saved) >= LOSS, explained, blamed
