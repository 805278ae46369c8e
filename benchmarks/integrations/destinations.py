# SPDX-License-Identifier: BSD-3-Clause
"""destinations.py: the cost of a report for each destination; cases of run.py.

A run is 60 steps of a small model on the CPU, at one of which a fresh report goes to
the destination, or does not. *report* is the step with the report, *after* the median
of those after it, in which a destination may still be writing. The first report, which
also loads a package or opens a run, is left out.

The report is that of a ResNet-50 on a V100 (75,718 events, 8 findings), analyzed again
for each run, outside the timed part.
"""

from __future__ import annotations

import atexit
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks import DATA
from benchmarks.integrations.pair_cost import Case

TRACE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
STEPS, REPORT_AT = 60, 20


def tensorboard() -> Any:
    from torchtraceap.integrations.tensorboard import TensorBoard

    return TensorBoard(_folder())


def wandb(**options: Any) -> Any:
    from torchtraceap.integrations.wandb import WandB

    os.environ["WANDB_SILENT"] = "true"
    for kind in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
        os.environ[f"WANDB_{kind}"] = _folder()
    return WandB(mode="offline", dir=_folder(), **options)


def mlflow(**options: Any) -> Any:
    from torchtraceap.integrations.mlflow import MLflow

    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    os.environ["MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR"] = "false"
    return MLflow(uri=f"file:{_folder()}", **options)


def prometheus() -> Any:
    from torchtraceap.integrations.prometheus import Prometheus

    return Prometheus(Path(_folder()) / "torchtraceap.prom")


@cache
def _folder() -> str:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder.name


@cache
def _made(make: Callable[[], Any]) -> Any:
    made = make()
    atexit.register(made.close)
    return made


def run(make: Callable[[], Any], has_it: bool) -> dict[str, float]:
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)])
    report = torchtraceap.analyze(DATA / TRACE, detector="off")
    destination = _made(make) if has_it else None
    batch = torch.ones(32, 256)
    times = []
    for step in range(STEPS):
        start = time.perf_counter()
        model(batch).pow(2).mean().backward()
        if destination is not None and step == REPORT_AT:
            destination(report)
        times.append(1000 * (time.perf_counter() - start))
    return {
        "report": times[REPORT_AT],
        "after": statistics.median(times[REPORT_AT + 1 :]),
    }


def case(name: str, needs: str, make: Callable[[], Any]) -> Case:
    return Case(name, needs, "a report goes there", partial(run, make))


CASES = [
    case("TensorBoard", "tensorboard", tensorboard),
    case("W&B, offline", "wandb", wandb),
    case("W&B, offline, no files", "wandb", partial(wandb, files=False)),
    case("MLflow, file store", "mlflow", mlflow),
    case("MLflow, file store, no files", "mlflow", partial(mlflow, files=False)),
    case("Prometheus", "prometheus_client", prometheus),
]
