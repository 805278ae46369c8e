# SPDX-License-Identifier: BSD-3-Clause
"""training.py: a whole training, from traces to a file of weights."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torchtraceap.base.errors import TrainingError, WeightsError
from torchtraceap.base.files import replacing
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.base.units import counted
from torchtraceap.detection import CALIBRATED_FOR
from torchtraceap.detection.detection import FALSE_ALARMS, SIDES
from torchtraceap_train.loop import Progress
from torchtraceap_train.own import OwnTraces
from torchtraceap_train.recipe import begin_with, card_of, plan_for
from torchtraceap_train.stacked import train_model
from torchtraceap_train.traces import LearningTrace, read_set


def train(
    sets: Sequence[str],
    own: OwnTraces,
    out: str,
    *,
    begin: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    checkpoint: str | None = None,
    trees: bool = True,
    device: str = "cpu",
    said: Callable[[str], None],
    told: Callable[[Progress], None],
) -> None:
    """Train the detector and write its weights.

    Args:
        sets: Folders of training sets, which `own` traces come beside.
        begin: Weights to go on from: a file, ``bundled`` or ``nothing``; None: the
            former without sets, else the latter.
        steps: Training steps of the network; None: as in the recipe.
        checkpoint: Written while it runs; a training that was stopped goes on from it.
        trees: Grow trees beside the network, if it begins from nothing.
        said: Called with what there is to say before and after it, a line each.

    Raises:
        TrainingError: Something that was named cannot be used, tells nothing to learn,
            or cannot be written; the message says what to do.
        TraceError, WeightsError, OSError, MemoryError: As of what it reads.
    """
    weights = begin_with(begin, own=not sets)
    _check(device, weights)
    traces: list[LearningTrace] = []
    for folder in sets:
        traces += read_set(Path(folder))
    traces += own.read()
    plan = plan_for(traces, steps, weights, trees=trees)
    windows = sum(map(len, traces))
    said(f"learning from {counted(len(traces), 'trace')}, {windows:,} windows")
    model = train_model(
        traces,
        plan,
        seed=seed,
        begin=weights,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        device=device,
        card=card_of(traces, plan, seed, weights),
        told=told,
    )
    try:
        with replacing(out) as new:
            model.save(new)
    except (OSError, WeightsError) as error:
        why = getattr(error, "strerror", None) or "there may be no room"
        raise TrainingError(
            f"cannot write {out}: {why}. Give --out a file in a folder that "
            "exists, may be written to and has room."
        ) from error
    size = os.path.getsize(out) / 1e6
    said(f"{out}: {size:.1f} MB. torchtraceap analyze --detector uses it.")
    if text := _what_is_not_flagged(model):
        said(text)
    if CALIBRATED_FOR in model.card:
        said(
            "Its thresholds are those of the weights that it was begun with: how "
            "many fine windows it flags has not been measured."
        )


def _check(device: str, begin: Path | None) -> None:
    """Say what is wrong with a device or with weights before traces are read."""
    module = load_torch_module()
    try:
        module.Network(module.Config(width=8, layers=0, trace_layers=0), device=device)
    except (ValueError, RuntimeError) as error:
        why = str(error).partition("\n")[0]
        raise TrainingError(
            f"--device {device}: {why}. Name another, or cpu."
        ) from error
    if begin is not None:
        module.Network.load(os.fspath(begin))


def _what_is_not_flagged(model: Any) -> str:
    """Return a sentence if thresholds are missing, which take windows to calibrate."""
    sides = [
        name.upper()
        for side, name in enumerate(SIDES)
        if math.isinf(model.threshold(side, FALSE_ALARMS))
    ]
    if not sides:
        return ""
    return (
        f"It gives probabilities, but flags nothing of the {' and the '.join(sides)}: "
        f"that no more than {FALSE_ALARMS:.0%} of fine windows are flagged takes more "
        "labeled traces."
    )
