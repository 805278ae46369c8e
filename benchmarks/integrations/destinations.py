# SPDX-License-Identifier: BSD-3-Clause
"""destinations.py: what a report costs each destination, as pairs with and without.

    python benchmarks/integrations/destinations.py [--pairs N] [CASE...]

Prints JSON. A run is 60 steps of a small model on the CPU, at one of which a fresh
report goes to the destination, or does not; the two runs of a pair follow each other,
in alternating order. *report* is the step with the report, *step* the median of those
after it, in which a destination may still be writing. Figures are medians of all pairs
with the interval of 95 % that a bootstrap gives. What the first report costs besides,
such as loading a package or opening a run, is ``first_ms``.

The report is that of a ResNet-50 on a V100 (75,718 events, 8 findings), analyzed anew
for each run, outside of what is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

import torchtraceap
from torchtraceap.integrations.mlflow import MLflow
from torchtraceap.integrations.prometheus import Prometheus
from torchtraceap.integrations.tensorboard import TensorBoard
from torchtraceap.integrations.wandb import WandB

TRACE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TRACES = Path(__file__).resolve().parents[2] / "tests" / "data"
STEPS, REPORT_AT = 60, 20
EVERY = (100, 1000)  # Steps between reports, for the cost of a step.
MAKES: dict[str, Callable[[], Any]] = {
    "TensorBoard": lambda: TensorBoard("runs"),
    "W&B, offline": lambda: WandB(mode="offline", dir="."),
    "W&B, offline, no files": lambda: WandB(mode="offline", dir=".", files=False),
    "MLflow, file store": lambda: MLflow(uri="file:mlruns"),
    "MLflow, file store, no files": lambda: MLflow(uri="file:mlruns", files=False),
    "Prometheus": lambda: Prometheus("torchtraceap.prom"),
}
NEEDS = {"T": "tensorboard", "W": "wandb", "M": "mlflow", "P": "prometheus_client"}

Phases = dict[str, float]
Pair = tuple[float, float]  # Milliseconds without, and with.


class Case(NamedTuple):
    """A destination, and what runs without it or, given True, with it."""

    name: str
    needs: str
    what: str
    run: Callable[[bool], Phases]


def cases() -> list[Case]:
    """Return what is measured; a destination is made with its first run."""
    return [
        Case(name, NEEDS[name[0]], f"a report goes to {name}", partial(_run, name))
        for name in MAKES
    ]


_made: dict[str, Any] = {}


def _run(name: str, has_it: bool) -> Phases:
    if has_it and name not in _made:
        _made[name] = MAKES[name]()
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)])
    report = torchtraceap.analyze(TRACES / TRACE, detector="off")
    batch = torch.ones(32, 256)
    times = []
    for step in range(STEPS):
        start = time.perf_counter()
        model(batch).pow(2).mean().backward()
        if has_it and step == REPORT_AT:
            _made[name](report)
        times.append(1000 * (time.perf_counter() - start))
    after = times[REPORT_AT + 1 :]
    return {"report": times[REPORT_AT], "step": statistics.median(after)}


def measured(case: Case, pairs: int) -> dict[str, Any]:
    """Return the figures of a case."""
    first = case.run(True)["report"]
    found: dict[str, list[Pair]] = {"report": [], "step": []}
    for number in range(pairs):
        order = (False, True) if number % 2 else (True, False)
        times = {has_it: case.run(has_it) for has_it in order}
        for phase, of_phase in found.items():
            of_phase.append((times[False][phase], times[True][phase]))
    report, step = (_added(found[phase]) for phase in ("report", "step"))
    return {
        "what": case.what,
        "pairs": pairs,
        "first_ms": round(first, 1),
        "report_ms": report,
        "step_ratio": _middle([b / a for a, b in found["step"]]),
        "step_us": {name: round(1000 * ms, 1) for name, ms in step.items()},
        "per_step_us": {
            f"every {steps} steps": round(1000 * report["median"] / steps, 1)
            for steps in EVERY
        },
    }


def _added(pairs: Sequence[Pair]) -> dict[str, float]:
    return _middle([with_it - without for without, with_it in pairs])


def _middle(values: Sequence[float]) -> dict[str, float]:
    draw = random.Random(0)
    medians = sorted(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(2000)
    )
    figures = (statistics.median(values), medians[50], medians[-51])
    return {
        name: round(figure, 4)
        for name, figure in zip(("median", "low", "high"), figures, strict=True)
    }


def main() -> None:
    known: Mapping[str, Case] = {case.name: case for case in cases()}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(known))
    parser.add_argument("--pairs", type=int, default=30)
    options = parser.parse_args()
    os.environ |= {"WANDB_SILENT": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}
    os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
            os.environ[f"WANDB_{kind}"] = folder
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
            results = {
                name: measured(known[name], options.pairs)
                for name in options.cases or known
            }
            for destination in _made.values():
                destination.close()
    machine = {
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
    }
    print(json.dumps({"machine": machine, "cases": results}, indent=1))


if __name__ == "__main__":
    main()
