# SPDX-License-Identifier: BSD-3-Clause
"""recipe.py: defaults of ``torchtraceap train``.

The numbers are those of docs/detector.md, which says what was measured.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from torchtraceap import _core
from torchtraceap.base.errors import TrainingError
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED, NOT_ASKED
from torchtraceap_train.checkpoint import Phase
from torchtraceap_train.draws import DrawSettings
from torchtraceap_train.stacked import Plan
from torchtraceap_train.traces import OWN, LearningTrace

#: The network that is shipped.
NETWORK: dict[str, Any] = {
    "width": 64,
    "layers": 3,
    "hidden": 128,
    "trace_layers": 1,
    "reach": 8,
    "dropout": 0.2,
    "name_dropout": 0.3,
}
#: Of labeled windows; of all types one or two are there, so they weigh more.
LABELS = {"any": 1.0, "types": 10.0, "recoverable": 1.0}
#: More learn the traces by heart: of programs that were kept for calibration a network
#: of 3,000 steps judged fewer windows right, and of recorded ones by far.
_STEPS = 900
#: Further steps on traces of one's own: enough to move, too few to forget.
_FURTHER = 200
_RATE, _RATE_FURTHER = 2e-3, 1e-4


def begin_with(named: str | None, *, own: bool) -> Path | None:
    """Return the weights to go on from, None: nothing.

    Raises TrainingError if there is no such file.
    """
    if named is None:
        named = "bundled" if own else "nothing"
    if named == "nothing":
        return None
    path = BUNDLED if named == "bundled" else Path(named)
    if named == "bundled" and not path.is_file():
        raise TrainingError(
            "this torchtraceap comes without weights to go on from. Name a file "
            "(--from FILE), or --from nothing."
        )
    if not path.is_file():
        raise TrainingError(
            f"--from {named}: there is no such weights file. Name "
            "one, `bundled` or `nothing`."
        )
    return path


def plan_for(
    traces: Sequence[LearningTrace],
    steps: int | None,
    begin: Path | None,
    *,
    trees: bool,
) -> Plan:
    """Return the plan for these traces: what they tell decides what is learned from.

    Raises TrainingError if they tell nothing that the network could learn.
    """
    labeled = any((trace.any >= 0).any() for trace in traces)
    twins = {trace.name for trace in traces}
    paired = any(trace.twin in twins and trace.bad is not None for trace in traces)
    # Whole traces that are called good or bad tell little where windows are labeled.
    called = {trace.bad for trace in traces if trace.source == OWN} >= {True, False}
    losses = dict(LABELS) if labeled else {}
    if paired and not labeled:
        losses["pairs"] = 0.5
    if called:
        losses["bags"] = 0.5
    if not losses:
        raise TrainingError(
            "these traces tell nothing to learn: name good and bad ones (--good and "
            "--bad), a pair (--pair) or labeled windows (--labels)."
        )
    draws = DrawSettings(twins="pairs" in losses)
    if begin is not None:
        count = _FURTHER if steps is None else steps
        return Plan((Phase(count, losses, draws, _RATE_FURTHER),), trees=False)
    count = _STEPS if steps is None else steps
    return Plan((Phase(count, losses, draws, _RATE),), dict(NETWORK), trees=trees)


def card_of(
    traces: Sequence[LearningTrace], plan: Plan, seed: int, begin: Path | None
) -> dict[str, str]:
    """Return the metadata of a weights file."""
    count = Counter(trace.source for trace in traces)
    import torch

    never = np.all([(trace.types < 0).all(axis=0) for trace in traces], axis=0)
    patterns = np.array(load_torch_module().pattern_names())
    # Fine-tuned weights get the name of their file.
    name = {"name": f"torchtraceap {_core.__version__}"} if begin is None else {}
    return name | {
        "version": _core.__version__,
        "seed": str(seed),
        "traces": ", ".join(f"{source}: {count[source]}" for source in sorted(count)),
        "windows": str(sum(map(len, traces))),
        "steps": " + ".join(str(phase.steps) for phase in plan.phases),
        "begun with": "nothing" if begin is None else os.path.basename(begin),
        "torch": torch.__version__,
        "machine": platform.machine(),
        NOT_ASKED: ", ".join(patterns[never]),
    }
