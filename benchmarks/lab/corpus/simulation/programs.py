# SPDX-License-Identifier: BSD-3-Clause
"""programs.py: the workloads' twins as steps of items, by dry runs, each once.

A dry run of a twin makes three steps; the last is what every step of a simulated run
repeats. Its launches are estimated for each GPU in turn. Records are kept in a
folder, so that another run finds them.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

import torchtraceap
from benchmarks.lab.corpus.simulation.items import Item, Step
from benchmarks.lab.corpus.simulation.operator_rows import args_of, rows_of
from benchmarks.lab.corpus.workloads.pairs import PAIRS, Case, possible
from benchmarks.lab.corpus.workloads.training import Lab, tf32
from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.kernel_time import kernel_us
from torchtraceap_dryrun.estimate.launches import Launch, launches_of
from torchtraceap_dryrun.record import Call, Op, Record
from torchtraceap_dryrun.timeline.rows import node_name, phases_of

FOLDER = Path(__file__).resolve().parents[1]
MAIN = "train.py(31): main"


def step_items(
    record: Record, modules: dict[str, str], number: int, gpu: Gpu
) -> Iterator[Item]:
    """Give the items of one step of a record, with what they take on a GPU.

    Args:
        modules: Classes of modules by path.
        number: The step's number.
    """
    entries = record.entries
    syncs = {sync.entry for sync in record.syncs}
    used = {e.forward for e in entries if isinstance(e, Op) and e.forward is not None}
    seen: Counter[tuple[Any, ...]] = Counter()
    names = _Frames(record)
    for at, phase in enumerate(phases_of(record)):
        entry = entries[at]
        if entry.step != number:
            continue
        if isinstance(entry, Call):
            if entry.kind in ("event_record", "stream_wait"):
                continue
            key = (entry.kind, phase, _place(entry.line))
            seen[key] += 1
            frames = names.of((entry.line,) if entry.line else ())
            yield Item(
                f"{key}{seen[key]}", "wait", entry.kind, phase, frames=frames,
                captured=False, line=_place(entry.line),
            )  # fmt: skip
            continue
        if entry.name == "aten::detach" and (entry.module or phase == "backward"):
            continue  # Of saved tensors: autograd makes it, and no recording has it.
        key = (
            entry.name, phase, entry.module, _place(entry.line),
            tuple(t.shape for t in entry.outputs),
        )  # fmt: skip
        seen[key] += 1
        outer, name = rows_of(entry.name, phase)
        if phase == "backward":
            outer = (*_nodes(record, entry), *outer)
        launches = () if entry.is_view else launches_of(entry, gpu)
        copy = entry.copy
        if copy is not None and copy.nbytes == 0:
            copy = None
        yield Item(
            f"{key}{seen[key]}", "op", name, phase, outer, args_of(entry),
            () if phase == "backward" else names.of(entry.stack),
            () if phase == "backward" else _modules(entry, modules),
            tuple((one, launch_us(one, gpu)) for one in launches),
            copy, captured=copy is None and at not in syncs,
            line=_place(entry.line),
            sequence=at if at in used else (entry.forward or -1),
            calls=(),
        )  # fmt: skip
        if at in syncs and (copy is None or not copy.blocking):
            yield Item(
                f"sync{key}{seen[key]}", "wait", "stream_sync", phase,
                frames=names.of(entry.stack), captured=False,
                line=_place(entry.line),
            )  # fmt: skip


def launch_us(launch: Launch, gpu: Gpu) -> float:
    """Return what a launch takes. Where TF32 is not faster, libraries do without it."""
    us = kernel_us(launch, gpu)
    if launch.dtype == "tf32":
        us = min(us, kernel_us(dataclasses.replace(launch, dtype="float32"), gpu))
    return us


def _nodes(record: Record, op: Op) -> tuple[str, ...]:
    if op.forward is None:
        return ()
    made = record.entries[op.forward]
    assert isinstance(made, Op)
    node = node_name(made)
    return f"{node}0", f"{node.rpartition(' ')[2]}0"


def _modules(op: Op, classes: dict[str, str]) -> tuple[str, ...]:
    if op.phase != "forward" or not op.module:
        return ()
    parts = op.module.split(".")[1:]
    paths = [".".join(parts[:n]) for n in range(len(parts) + 1)]
    return tuple(
        f"nn.Module: {classes.get(path, 'Module')}_{at}"
        for at, path in enumerate(paths)
    )


def _place(line: Line | None) -> str:
    if line is None:
        return ""
    return f"{_shown(line.file)}:{line.line}"


def _shown(file: str) -> str:
    """Return a file as seen from the folder of the corpus: no path of a machine."""
    path = Path(file)
    if path.is_relative_to(FOLDER):
        return path.relative_to(FOLDER).as_posix()
    parts = path.parts
    for root in ("site-packages", "dist-packages"):
        if root in parts:
            return "/".join(parts[parts.index(root) + 1 :])
    return path.name


class _Frames:
    """Names of functions as a profiler writes them, with the line they begin at.

    A record has lines, not beginnings: a function is placed at its first line seen.
    """

    def __init__(self, record: Record) -> None:
        self._first: dict[tuple[str, str], int] = {}
        for entry in record.entries:
            stack = entry.stack if isinstance(entry, Op) else ()
            for line in stack:
                key = (line.file, line.function)
                first = self._first.get(key, math.inf)
                self._first[key] = int(min(first, line.line))

    def of(self, stack: tuple[Line, ...]) -> tuple[str, ...]:
        """Name a stack, the outermost first."""
        inner = tuple(
            f"{_shown(at.file)}"
            f"({self._first.get((at.file, at.function), at.line)}): {at.function}"
            for at in reversed(stack)
            if "workloads" in Path(at.file).parts
        )
        return (MAIN, *inner)


Twin = Literal["slow", "fixed"]

STEPS = 3
MOST_OPS = 7000


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
    """The existing programs, and their records.

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
        """Return the dry run of a twin, with `scale` times its usual batch.

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
