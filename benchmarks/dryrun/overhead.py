# SPDX-License-Identifier: BSD-3-Clause
"""overhead.py: what a dry run costs, for an operator and for a large model."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import torch
from models import gpt_training, resnet_training

import torchtraceap

OPERATORS = 1000
ROUNDS = 5
BATCH = 8
#: A GPT of about five billion weights.
LARGE = dict(width=3584, heads=28, depth=32, batch=8, length=1024)


def _timed(step: Callable[[], Any]) -> float:
    # Others share the machine, so a clock on the wall would time them as well.
    begin = time.process_time()
    step()
    return time.process_time() - begin


def _us_each(x: torch.Tensor) -> float:
    """Return the least processor time of `x * 1.0`, in µs, of some rounds."""
    return min(_timed(lambda: [x * 1.0 for _ in range(OPERATORS)])
               for _ in range(ROUNDS)) * 1e6 / OPERATORS  # fmt: skip


def operator_costs() -> dict[str, float]:
    """Return what `x * 1.0` of 64 numbers takes in several ways, in µs."""
    out = {
        "on the CPU": _us_each(torch.ones(64)),
        "on meta, no dry run": _us_each(torch.ones(64, device="meta")),
    }
    for values in ("none", "small", "all"):
        with torchtraceap.dry_run(values=values):
            out[f'dry run, values="{values}"'] = _us_each(torch.ones(64, device="cuda"))
    return out


def step_costs() -> dict[str, float]:
    """Return what a small training step of ResNet-50 takes, in processor seconds."""
    with torchtraceap.dry_run() as run:
        step = resnet_training("cuda", batch=BATCH)
        step()
        before = len(run.ops)
        dry = _timed(step)
        operators = len(run.ops) - before
    real = resnet_training("cpu", batch=BATCH)
    return {"dry_s": dry, "cpu_s": _timed(real), "operators": operators}


def large_model() -> dict[str, float]:
    """Return what a step of a model takes that fits into no memory here."""
    with torchtraceap.dry_run(values="small") as run:
        step, weights = gpt_training("cuda", **LARGE)
        step()
        operators = len(run.ops)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = _timed(step)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        operators = len(run.ops) - operators
    return {
        "weights": weights,
        "seconds": seconds,
        "operators": operators,
        "resident_growth_mb": (after - before) / 1024,
        "peak_gib": run.peak_bytes / 2**30,
    }


def costs() -> dict[str, Any]:
    """Return all of it."""
    return {
        "operator_us": operator_costs(),
        "resnet50": step_costs(),
        "large": large_model(),
    }
