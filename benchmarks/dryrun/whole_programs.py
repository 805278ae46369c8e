# SPDX-License-Identifier: BSD-3-Clause
"""whole_programs.py: dry runs of programs that were traced, beside their traces."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torchtraceap
from benchmarks.dryrun.programs import PROGRAMS, Program
from benchmarks.dryrun.trace_ops import TracedProgram, read
from torchtraceap_dryrun.estimate.kernel_time import kernel_us
from torchtraceap_dryrun.estimate.launches import launches_of

WARM_UP = 2  # Steps before the one that is looked at: optimizers make their state.
# What DistributedDataParallel adds: copies into and out of buckets, and all-reduces.
_DDP = ("reducer", "c10d", "record_param_comms", "flatten_dense_tensors")


def dry(program: Program) -> dict[str, float]:
    """Return what a step launches in a dry run, and how long that should take."""
    begin = time.perf_counter()
    with torchtraceap.dry_run(gpu=program.gpu) as run:
        step = program.make("cuda")
        for _ in range(WARM_UP + 1):
            step()
            run.step()
    seconds = time.perf_counter() - begin
    found = [
        launch
        for op in run.ops
        if op.step == WARM_UP
        for launch in launches_of(op, run.gpu)
    ]
    return {
        "kernels": sum(launch.is_kernel for launch in found),
        "busy_us": sum(kernel_us(launch, run.gpu) for launch in found),
        "by_default": sum(launch.by_default for launch in found),
        "seconds": seconds,
    }


def recorded(trace: TracedProgram, steps: int) -> dict[str, float]:
    """Return what a step of a trace launched, and how long that took.

    Without what DistributedDataParallel adds, and what was queued before the trace.
    """
    mine = [
        e
        for e in trace.launched
        if not any(part in name for part in _DDP for name in e["owners"])
        and "HtoD" not in e["name"]
        and "DtoH" not in e["name"]
        and "nccl" not in e["name"].lower()
    ]
    kernels = sum(e["cat"].lower() == "kernel" for e in mine)
    return {
        "kernels": kernels / steps,
        "busy_us": sum(float(e["dur"]) for e in mine) / steps,
    }


def compare(folder: Path) -> list[dict[str, Any]]:
    """Return a row for each program whose trace is in a folder."""
    rows = []
    for program in PROGRAMS:
        path = folder / f"{program.trace}.json.gz"
        if not path.exists():
            continue
        rows.append(
            {
                "program": program.name,
                "trace": program.trace,
                "gpu": program.gpu,
                "fitted": program.fitted,
                "dry": dry(program),
                "trace_figures": recorded(read(path), program.steps),
            }
        )
    return rows
