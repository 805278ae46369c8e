# SPDX-License-Identifier: BSD-3-Clause
"""run.py: the accuracy of the dry run against published traces, and its cost.

    python -m benchmarks.dryrun.run [--traces FOLDER] [--no-costs]

Writes results/dryrun.json and results/dryrun_accuracy.md. Traces that are not in the
folder are left out; tests/data has two of them, ../shared/traces all.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks import DATA, RESULTS, TRACES
from benchmarks.dryrun import kernel_errors
from benchmarks.dryrun.models import gpt_training, resnet_training
from benchmarks.dryrun.programs import PROGRAMS, Program
from benchmarks.dryrun.trace_ops import TracedProgram, read
from benchmarks.lab import pages
from torchtraceap_dryrun.estimate.kernel_time import CLASSES, kernel_us
from torchtraceap_dryrun.estimate.launches import launches_of

OPERATORS = 1000
WARMED_BY = 100  # Operators.
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
        for _ in range(WARMED_BY):
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


KEPT = RESULTS / "dryrun.json"
#: In the order in which the page lists them.
COMPARED = (
    kernel_errors.VIT, kernel_errors.BERT, kernel_errors.QWEN, kernel_errors.OWL,
    kernel_errors.RESNET, kernel_errors.RANKING_A100, kernel_errors.RANKING_V100,
)  # fmt: skip


def main() -> None:
    """Compare, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--traces", type=Path, default=TRACES if TRACES.exists() else DATA
    )
    parser.add_argument("--no-costs", action="store_true", help="keep those measured")
    options = parser.parse_args()
    machine = pages.machine()
    found = [options.traces / f"{name}.json.gz" for name in COMPARED]
    results = {
        "machine": machine,
        "torch": torch.__version__,
        "kernels": [kernel_errors.errors(path) for path in found if path.exists()],
        "programs": compare(options.traces),
        "costs": json.loads(KEPT.read_text())["costs"] if options.no_costs else costs(),
    }
    print(pages.write("dryrun_accuracy", results))


def classes(results: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of all classes, those in sample first, and the constants."""
    rows = [
        {"trace": t["trace"], **row} for t in results["kernels"] for row in t["classes"]
    ]
    rows.sort(key=lambda row: (row["class"], not row["fitted"]))
    return {"rows": rows, "constants": CLASSES}


if __name__ == "__main__":
    main()
