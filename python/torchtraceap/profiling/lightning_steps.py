# SPDX-License-Identifier: BSD-3-Clause
"""lightning_steps.py: says what Lightning's PyTorchProfiler takes for a step.

It counts the steps of training, of validation and of each other loop from 0, sanity
validation among them, and to it each micro-batch is a step of training.
"""

from __future__ import annotations

import sys
from traceback import walk_stack
from typing import Any

import numpy as np

from torchtraceap import _core
from torchtraceap.profiling.notices import warn

_STEP = "ProfilerStep#"
_INSTEAD = "torchtraceap.integrations.lightning.ProfileCallback"


def tell(prof: Any, trace: _core.Trace) -> None:
    """Warns of steps in `trace` that are not what a reader takes them for."""
    if not type(getattr(prof, "schedule", None)).__module__.startswith(
        ("lightning.", "pytorch_lightning.")
    ):
        return
    if repeated := _repeated(trace):
        warn(
            f"step numbers repeat ({', '.join(repeated)}): Lightning's PyTorchProfiler "
            "counts training, validation and sanity validation each from 0, and these "
            "steps mix them. Trainer(num_sanity_val_steps=0) leaves the last one out; "
            f"{_INSTEAD} profiles training alone."
        )
    accumulated = getattr(_trainer(), "accumulate_grad_batches", 1)
    if accumulated > 1:
        warn(
            "to Lightning's PyTorchProfiler each micro-batch is a step; with "
            f"accumulate_grad_batches={accumulated} the optimizer makes one of "
            f"{accumulated} of them. To {_INSTEAD} that is a step."
        )


def _repeated(trace: _core.Trace) -> list[str]:
    """Returns the numbers that several steps of the host have."""
    steps = [i for i, text in enumerate(trace.strings) if text.startswith(_STEP)]
    columns = trace.columns
    of_host = columns["category"] == _core.category_number("user_annotation")
    names = columns["name"][of_host & np.isin(columns["name"], steps)]
    found, counts = np.unique(names, return_counts=True)
    return [trace.strings[i].removeprefix("ProfilerStep") for i in found[counts > 1]]


def _trainer() -> Any:
    """Returns the Trainer whose profiler calls its handler now; None if none does."""
    for frame, _ in walk_stack(sys._getframe()):
        module = getattr(frame.f_locals.get("self"), "_lightning_module", None)
        if module is not None:
            return module.trainer
    return None
