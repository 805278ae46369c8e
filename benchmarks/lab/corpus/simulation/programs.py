# SPDX-License-Identifier: BSD-3-Clause
"""programs.py: the workloads' twins as steps of items, by dry runs, each once.

A dry run of a twin makes three steps; the last is what every step of a simulated run
repeats. What it launches is estimated for each GPU in turn. Records are kept in a
folder, so that another run finds them.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

import torchtraceap
from benchmarks.lab.corpus.simulation.items import Step
from benchmarks.lab.corpus.simulation.step_items import step_items
from benchmarks.lab.corpus.workloads.pairs import PAIRS, Case, possible
from benchmarks.lab.corpus.workloads.training import Lab, tf32
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.record import Record

Twin = Literal["slow", "fixed"]

STEPS = 3
MOST_OPS = 7000
FOLDER = Path(__file__).resolve().parents[1]
MAIN = "train.py(31): main"


class RefusedError(RuntimeError):
    """A program cannot be simulated; says why."""


@dataclass(frozen=True)
class Recorded:
    """What is kept of a dry run."""

    record: Record
    allow_tf32: bool
    modules: dict[str, str]  #: Classes by path.
    parameters: tuple[int, ...]  #: Elements of each that has a gradient.
    refused: str = ""


class Programs:
    """The programs that there are, and their records.

    Args:
        folder: Where records are kept.
        names: Cases to take, as PAIR.FAMILY; none: all.
    """

    def __init__(self, folder: Path, names: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self.cases = {
            case.name: case
            for case in possible(PAIRS)
            if not names or case.name in names or case.pair.name in names
        }
        self._steps: dict[tuple[Any, ...], Step] = {}

    def recorded(self, name: str, twin: Twin, scale: float = 1.0) -> Recorded:
        """Return the dry run of a twin, with so many times its usual batch.

        Raises:
            RefusedError: The dry run refuses the program, or it is too long.
        """
        path = self._folder / f"{name}.{twin}.x{scale:g}.pickle"
        if path.exists():
            found = pickle.loads(path.read_bytes())
        else:
            found = _dry_run(self.cases[name], twin, scale)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Another process may write it at the same time.
            partial = path.with_suffix(f".{os.getpid()}.part")
            partial.write_bytes(pickle.dumps(found))
            os.replace(partial, path)
        if found.refused:
            raise RefusedError(found.refused)
        return found

    def step(self, name: str, twin: Twin, scale: float, gpu: Gpu) -> Step:
        """Return a step's items, with what they take on a GPU."""
        key = (name, twin, scale, gpu.name)
        if key not in self._steps:
            if len(self._steps) > 24:
                self._steps.clear()
            found = self.recorded(name, twin, scale)
            with tf32(found.allow_tf32):
                self._steps[key] = list(
                    step_items(found.record, found.modules, STEPS - 1, gpu)
                )
        return self._steps[key]


def _dry_run(case: Case, twin: Twin, scale: float) -> Recorded:
    config = dict(case.family.configs["cuda"])
    if "batch" in config:
        config["batch"] = max(1, round(config["batch"] * scale))
    configs = {**case.family.configs, "cuda": config}
    family = dataclasses.replace(case.family, configs=configs)
    lab = Lab(torch.device("cuda"), family, "cuda", 0)
    nothing = Recorded(Record(), True, {}, ())
    try:
        with torchtraceap.dry_run(max_ops=STEPS * MOST_OPS, max_seconds=60) as run:
            made = getattr(case.pair, twin)(lab)
            try:
                with made.settings():
                    for _ in range(STEPS):
                        made.step()
                        run.step()
                modules = getattr(made.model, "named_modules", dict)
                classes = {path: type(one).__name__ for path, one in modules()}
                sizes = tuple(p.numel() for p in made.model.parameters())
                allowed = made.allow_tf32
            finally:
                made.close()
    except Exception as error:  # Whatever a workload raises, the others go on.
        why = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        return dataclasses.replace(nothing, refused=why)
    many = sum(entry.step == STEPS - 1 for entry in run.record.entries)
    if many > MOST_OPS:
        return dataclasses.replace(nothing, refused=f"{many} operators in a step")
    return Recorded(run.record, allowed, classes, sizes)
