# SPDX-License-Identifier: BSD-3-Clause
"""making_runs.py: schedules a run and what it is compared with, writes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.simulation.conditions import (
    Conditions,
    fitted_speed,
    fitted_steps,
)
from benchmarks.lab.corpus.simulation.distributing import arrivals_of, with_collectives
from benchmarks.lab.corpus.simulation.items import Steps
from benchmarks.lab.corpus.simulation.lowering import Lowering
from benchmarks.lab.corpus.simulation.plans import Plan
from benchmarks.lab.corpus.simulation.programs import Programs, Twin
from benchmarks.lab.corpus.simulation.truths import Timed, moments, saved
from benchmarks.lab.corpus.simulation.views import PLAIN, Lowered

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
#: Programs have these everywhere or here and there, and nobody says which of it could
#: go: known where it was put in, and where it could not matter.
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
        # What comes of the draws is no draw: it tells slow from fixed.
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
