# SPDX-License-Identifier: BSD-3-Clause
"""overhead.py: what a dry run costs, for an operator and for a large model."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from models import gpt_training, resnet_training

import torchtraceap

OPERATORS = 1000
ROUNDS = 5
#: A GPT of about five billion weights.
LARGE = dict(width=3584, heads=28, depth=32, batch=8, length=1024)


def _us_each(x: torch.Tensor) -> float:
    """Return the median time of `x * 1.0`, in µs, over some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(OPERATORS):
            x * 1.0
        rounds.append(1e6 * (time.perf_counter() - begin) / OPERATORS)
    return statistics.median(rounds)


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


def _timed(step: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def step_costs() -> dict[str, float]:
    """Return what a training step of ResNet-50 takes, in seconds, and its operators."""
    with torchtraceap.dry_run() as run:
        step = resnet_training("cuda")
        step()
        before = len(run.ops)
        dry = _timed(step)
        operators = len(run.ops) - before
    real = resnet_training("cpu")
    real()
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
