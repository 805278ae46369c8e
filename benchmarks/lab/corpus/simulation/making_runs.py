# SPDX-License-Identifier: BSD-3-Clause
"""making_runs.py: schedules a run and the runs it is compared with, and writes it.

An item takes the same time in both programs, so the cost of a pattern is the difference
from the same program without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.simulation.conditions import (
    Conditions,
    fitted_speed,
    fitted_steps,
)
from benchmarks.lab.corpus.simulation.inserting import after_backward
from benchmarks.lab.corpus.simulation.items import Item, Step, Steps
from benchmarks.lab.corpus.simulation.launching import PLAIN, Lowered
from benchmarks.lab.corpus.simulation.lowering import Lowering
from benchmarks.lab.corpus.simulation.plans import Plan
from benchmarks.lab.corpus.simulation.programs import Programs, Twin
from torchtraceap_dryrun.estimate.gpus import Gpu

_NEGLIGIBLE_NS = 500  # Moments between which less is saved than this are left out.


@dataclass(frozen=True)
class Timed:
    """A program that was scheduled."""

    keys: dict[int, str]
    times: np.ndarray
    span: int

    @classmethod
    def of(cls, lowered: Lowered) -> Timed:
        """Schedule a program."""
        times, span = lowered.program.times()
        return cls(lowered.keys, times, span)

    @property
    def busy(self) -> float:
        """The share of the run in which its own stream works."""
        mine = self.times[list(self.keys)]
        return float((mine[:, 1] - mine[:, 0]).sum() / self.span)


def saved(before: Timed, after: Timed) -> float:
    """Return the share of the run's length that goes without."""
    return 1 - after.span / before.span


def moments(before: Timed, after: Timed) -> np.ndarray:
    """Map the moments of a run to those of another, as runs.write expects.

    They are the begins and ends of work that both have.
    """
    there = {key: place for place, key in after.keys.items()}
    both = [(p, there[key]) for p, key in before.keys.items() if key in there]
    # Twins may have no work in common: then the ends are all that is known.
    old, new = np.array(both, int).reshape(-1, 2).T
    first = np.concatenate([[0], before.times[old].ravel(), [before.span]])
    second = np.concatenate([[0], after.times[new].ravel(), [after.span]])
    order = np.argsort(first, kind="stable")
    first, second = first[order], np.maximum.accumulate(second[order])
    second = np.minimum(second, after.span)
    return np.stack([first, second])[:, _telling(first - second)].astype(np.int64)


def _telling(shift: np.ndarray) -> np.ndarray:
    """Mark the moments without which what lies between would be off."""
    keep = np.zeros(len(shift), bool)
    keep[[0, -1]] = True
    last = shift[0]
    for at in range(1, len(shift) - 1):
        if abs(shift[at] - last) > _NEGLIGIBLE_NS:
            # Both ends of the stretch in which it changed.
            keep[at - 1 : at + 1] = True
            last = shift[at]
    return keep


_BUCKET_BYTES = 25 << 20  # DistributedDataParallel's own.
_LATENCY_US = 14.0
_WITHOUT_LINK = ("T4", "RTX A6000", "RTX 4090")  # Over PCIe.


def with_collectives(step: Step, parameters: tuple[int, ...], gpu: Gpu) -> Step:
    """Put in what DistributedDataParallel adds: buckets, as their gradients are there.

    Returns the step itself if it has no backward pass.
    """
    places = [i for i, item in enumerate(step) if item.phase == "backward"]
    if not places or not parameters:
        return step
    nbytes = 4 * sum(parameters)
    many = min(max(2, -(-nbytes // _BUCKET_BYTES)), 12, len(places))
    rate = gpu.link_bytes_per_s / 2 if gpu.name in _WITHOUT_LINK else 120e9
    us = _LATENCY_US + 1e6 * nbytes / many / rate
    out = list(step)
    for k in reversed(range(many)):
        at = places[(k + 1) * len(places) // many - 1] + 1
        bucket = Item(f"bucket{k}", "reduce", "allreduce", "backward", us=us,
                      nbytes=nbytes // many)  # fmt: skip
        out.insert(at, bucket)
    out.insert(after_backward(out), Item("buckets done", "reduced", ""))
    return out


def arrivals_of(lowering: Lowering, steps: Steps) -> list[dict[str, float]]:
    """Return when a rank like this one comes to each collective, from its step's begin.

    Scheduled alone: the other rank's clock is this rank's without any cause.
    """
    lowered = lowering.lower(steps)
    times, _ = lowered.program.times()
    starts = iter(lowered.reductions)
    out = []
    begin = 0.0
    for number, step in enumerate(steps.steps):
        out.append(
            {
                item.key: (float(times[next(starts), 0]) - begin) / 1000
                for item in step
                if item.kind == "reduce"
            }
        )
        prefix = f"{number}|"
        ends = [
            times[place, 1]
            for place, key in lowered.keys.items()
            if key.startswith(prefix)
        ]
        begin = float(np.max(ends)) if ends else begin
    return out


_DEVICE = 0
#: Patterns that are taken out of every run by looking at it otherwise.
_VIEWS = {
    "launch_bound": {"captured": True},
    "sync_stall": {"no_waits": True},
    "comm_exposed": {"hidden": True},
    "tensor_core_unused": {"tensor_cores": True},
    "misaligned_gemm": {"aligned": True},
    "exposed_copy": {"copied": True},
    "small_grid": {"filled": True},
}
#: What is put in and not left out by the fix, but written otherwise.
_REWRITTEN = frozenset(("pageable_copy", "misaligned_gemm", "unfused_attention"))
#: What the same fix removes: who captures a graph is rid of both.
_ALSO = {"launch_bound": ("missed_cuda_graph",)}
#: Programs have these everywhere or here and there, and it is unknown which of them
#: could go: known where it was inserted, and where it could not matter.
_UNKNOWN = ("fusible_chain", "redundant_d2d", "unfused_attention")


class Maker:
    """Makes the runs of plans."""

    def __init__(self, programs: Programs, out: Path) -> None:
        self._programs, self._out = programs, out

    def make(self, plans: list[Plan]) -> Iterator[runs.Run]:
        """Write the runs of one drawing.

        Raises:
            RefusedError: The program cannot be simulated.
        """
        # Twins have as many steps as the larger of them may have.
        sizes = [len(self._step(plan, plan.twin_program)) for plan in plans]
        for plan in plans:
            fitted = fitted_steps(plan.conditions, max(sizes))
            yield _Scheduling(self, replace(plan, conditions=fitted)).write(self._out)

    def base(self, plan: Plan, twin: Twin) -> Steps:
        """Return the program as it is, on two ranks if it is distributed."""
        step = self._step(plan, twin)
        if plan.distributed:
            found = self._programs.recorded(plan.case.name, twin, plan.conditions.batch)
            device = plan.conditions.device
            step = with_collectives(step, found.parameters, device)
        return Steps([list(step) for _ in range(plan.conditions.steps)])

    def _step(self, plan: Plan, twin: Twin) -> list:
        c = plan.conditions
        return self._programs.step(plan.case.name, twin, c.batch, c.device)


class _Scheduling:
    """The schedules of one run: as it is, and without each pattern."""

    def __init__(self, maker: Maker, plan: Plan) -> None:
        self._plan = plan
        self._bases = {plan.twin_program: maker.base(plan, plan.twin_program)}
        if plan.paired:
            self._bases["fixed"] = maker.base(plan, "fixed")
        clean = self._bases.get("fixed", self._bases[plan.twin_program])
        self._plain = replace(PLAIN, tensor_cores=plan.conditions.tensor_cores)
        self._plan = plan = replace(plan, conditions=self._paced(clean))
        self._lowering = Lowering(plan.conditions)
        alone = Timed.of(self._lowering.lower(clean, self._plain))
        self._step_us = alone.span / 1000 / plan.conditions.steps
        self._arrivals = None
        if plan.distributed:
            self._arrivals = arrivals_of(self._lowering, clean)

    def _paced(self, clean: Steps) -> Conditions:
        c = self._plan.conditions
        ran = Timed.of(Lowering(c).lower(clean, self._plain))
        at_once = replace(c, device_speed=1e-3)
        host = Timed.of(Lowering(at_once).lower(clean, self._plain))
        works, least = (one.busy * one.span / 1000 for one in (ran, host))
        speed = fitted_speed(c, works, least, host.span / 1000)
        return replace(c, device_speed=speed)

    def write(self, out: Path) -> runs.Run:
        plan = self._plan
        lowered = self._lowered(())
        ran = Timed.of(lowered)
        truth: dict[tuple[str, int], np.ndarray] = {}
        gains: dict[str, float] = {}
        patterns = self._patterns()
        for pattern in patterns:
            without = Timed.of(self._lowered((pattern,)))
            truth[pattern, _DEVICE] = moments(ran, without)
            gains[pattern] = saved(ran, without)
        best = Timed.of(self._lowered(patterns))
        truth[runs.ALL, _DEVICE] = moments(ran, best)
        c = plan.conditions
        told = c.told() | {"distributed": plan.distributed}
        # A result of the draws, not a draw: it tells slow from fixed.
        del told["device_speed"]
        run = runs.Run(
            name=plan.name, source="S", group=plan.case.name, role=plan.role,
            task=plan.case.family.task, family=plan.case.family.name,
            trains=plan.case.family.trains, seed=plan.seed, twin=plan.twin, gpu=c.gpu,
            recording=told, causes=tuple(self._causes(gains)),
            unknown=_UNKNOWN,
        )  # fmt: skip
        text = lowered.program.trace_text({"corpus": {"source": "S"}})
        runs.write(out, run, text, truth)
        return run

    def _patterns(self) -> tuple[str, ...]:
        plan = self._plan
        found = {put.mechanism.pattern for put in plan.puts}
        if plan.paired:
            found.add(plan.case.pair.pattern)
        found |= {"launch_bound", "sync_stall", "tensor_core_unused", "small_grid"}
        if plan.distributed:
            found.add("comm_exposed")
        # What no item has, no view takes out.
        program = [item for step in self._steps(()).steps for item in step]
        if any(item.copy and item.copy.direction != "d2d" for item in program):
            found.add("exposed_copy")
        works = (launch.work for item in program for launch, _ in item.launches)
        if any(work.endswith("_unaligned") for work in works):
            found.add("misaligned_gemm")
        return tuple(sorted(found))

    def _steps(self, without: Collection[str]) -> Steps:
        plan = self._plan
        fixed = plan.paired and plan.case.pair.pattern in without
        steps = self._bases["fixed" if fixed else plan.twin_program].copy()
        for put in plan.puts:
            if put.mechanism.pattern not in without:
                put.apply(steps, self._step_us)
            elif put.mechanism.pattern in _REWRITTEN:
                put.apply(steps, self._step_us, fixed=True)
        return steps

    def _lowered(self, without: Collection[str]) -> Lowered:
        view = self._plain
        for pattern in _VIEWS.keys() & set(without):
            view = replace(view, **_VIEWS[pattern])
        return self._lowering.lower(self._steps(without), view, self._arrivals)

    def _causes(self, gains: dict[str, float]) -> Iterator[runs.Cause]:
        plan = self._plan
        named = set()
        if plan.paired:
            pair = plan.case.pair
            named.add(pair.pattern)
            yield runs.Cause(
                pair.pattern, pair.mechanism or pair.name, 1.0,
                saved=round(gains[pair.pattern], 5),
                also=tuple(sorted({*pair.also, *_ALSO.get(pair.pattern, ())})),
            )  # fmt: skip
        for put in plan.puts:
            pattern = put.mechanism.pattern
            named.add(pattern)
            yield runs.Cause(
                pattern, put.mechanism.name, round(put.strength, 3), put.null,
                put.natural, round(gains[pattern], 5), also=_ALSO.get(pattern, ()),
            )  # fmt: skip
        for pattern, gain in gains.items():
            if pattern not in named:
                yield runs.Cause(pattern, "as_it_is", 0.0, natural=True,
                                 saved=round(gain, 5),
                                 also=_ALSO.get(pattern, ()))  # fmt: skip
