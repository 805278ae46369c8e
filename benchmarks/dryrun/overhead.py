# SPDX-License-Identifier: BSD-3-Clause
"""overhead.py: what a dry run costs, for an operator and for a large model."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import torchtraceap
from benchmarks.dryrun.models import gpt_training, resnet_training

OPERATORS = 1000
WARM_UP = 100
ROUNDS = 9
STEPS = 3  # The fastest counts.
BATCH = 8
#: A GPT of about five billion weights.
LARGE = dict(width=3584, heads=28, depth=32, batch=8, length=1024)


def _timed(step: Callable[[], Any]) -> float:
    # Others share the machine, so a clock on the wall would time them as well.
    begin = time.process_time()
    step()
    return time.process_time() - begin


def _us_each(x: torch.Tensor) -> float:
    """Return the processor time of `x * 1.0`, in µs."""
    return _timed(lambda: [x * 1.0 for _ in range(OPERATORS)]) * 1e6 / OPERATORS


def _dry_us(values: Any) -> float:
    with torchtraceap.dry_run(values=values):
        x = torch.ones(64, device="cuda")
        for _ in range(WARM_UP):
            x * 1.0
        return _us_each(x)


def operator_costs() -> dict[str, float]:
    """Return the least that `x * 1.0` of 64 numbers took in several ways, in µs.

    The ways take turns, as the machine is faster at some times than at others.
    """
    ways: dict[str, Callable[[], float]] = {
        "on the CPU": lambda: _us_each(torch.ones(64)),
        "on meta, no dry run": lambda: _us_each(torch.ones(64, device="meta")),
    }
    for values in ("none", "small", "all"):
        ways[f'dry run, values="{values}"'] = partial(_dry_us, values)
    taken = [{way: us() for way, us in ways.items()} for _ in range(ROUNDS)]
    return {way: min(each[way] for each in taken) for way in ways}


def step_costs() -> dict[str, float]:
    """Return what a small training step of ResNet-50 takes, in processor seconds."""
    with torchtraceap.dry_run() as run:
        step = resnet_training("cuda", batch=BATCH)
        step()
        before = len(run.ops)
        dry = min(_timed(step) for _ in range(STEPS))
        operators = (len(run.ops) - before) // STEPS
    real = resnet_training("cpu", batch=BATCH)
    computed = min(_timed(real) for _ in range(STEPS))
    return {"dry_s": dry, "cpu_s": computed, "operators": operators}


def large_model() -> dict[str, float]:
    """Return what a step of a model takes that fits into no memory here."""
    with torchtraceap.dry_run(values="small") as run:
        step, weights = gpt_training("cuda", **LARGE)
        step()
        operators = len(run.ops)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = min(_timed(step) for _ in range(STEPS))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        operators = (len(run.ops) - operators) // STEPS
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
