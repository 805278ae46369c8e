# SPDX-License-Identifier: BSD-3-Clause
"""making_runs.py: draws a run, schedules it and what it is compared with, writes it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import runs
from workloads.pairs import Case

from simulation.conditions import Conditions, draw, fitted_speed, fitted_steps
from simulation.distributing import arrivals_of, with_collectives
from simulation.drawing import Put, draw_causes, draw_natural, draw_nulls
from simulation.items import Steps
from simulation.lowering import Lowering
from simulation.programs import Programs, Twin
from simulation.truths import Timed, moments, saved
from simulation.views import PLAIN, Lowered

_DEVICE = 0
_DISTRIBUTED = 0.2
#: What a dry run does not see: time of the host, memory of the driver.
_UNSEEN = frozenset(
    ("dataloader_bound", "host_bound_python", "gc_pause", "allocator_churn",
     "recompile_or_lazy_load", "graph_break", "missed_cuda_graph")
)  # fmt: skip
#: Patterns that are taken out of every run by looking at it otherwise.
_VIEWS = {
    "launch_bound": {"captured": True},
    "sync_stall": {"no_waits": True},
    "comm_exposed": {"hidden": True},
    "tensor_core_unused": {"tensor_cores": True},
}


@dataclass(frozen=True)
class Plan:
    """A run that is to be: everything but its schedule."""

    name: str
    case: Case
    twin_program: Twin
    conditions: Conditions
    puts: tuple[Put, ...]
    role: runs.Role
    twin: str
    distributed: bool
    paired: bool  #: Its causes are those of the slow program; the fixed is its fix.
    seed: int


def _draw_case(programs: Programs, rng: random.Random) -> Case:
    # The pair first: some run on one family, others on thirty.
    cases = sorted(programs.cases.values(), key=lambda case: case.name)
    pair = rng.choice(sorted({case.pair.name for case in cases}))
    return rng.choice([case for case in cases if case.pair.name == pair])


def plans_of(programs: Programs, seed: int, number: int) -> list[Plan]:
    """Draw one run, or a run and its twin; the same for the same numbers."""
    rng = random.Random(f"{seed}:{number}")
    case = _draw_case(programs, rng)
    conditions = draw(rng)
    distributed = case.family.trains and rng.random() < _DISTRIBUTED
    natural = draw_natural(rng)
    kinds = ("pair", "causes", "nulls", "alone")
    kind = rng.choices(kinds, (0.4, 0.4, 0.12, 0.08))[0]
    if kind == "pair" and case.pair.pattern in _UNSEEN:
        kind = "causes"
    stem = f"S{seed}-{number:05d}"
    first = Plan(
        f"{stem}-a", case, "fixed", conditions, natural, "natural", "", distributed,
        False, seed,
    )  # fmt: skip
    if kind == "alone":
        return [first]
    if kind == "nulls":
        puts = (*natural, *draw_nulls(rng, distributed))
        return [replace(first, puts=puts, role="null")]
    good = replace(first, role="fixed", twin=f"{stem}-b")
    bad = replace(first, name=f"{stem}-b", role="slow", twin=f"{stem}-a")
    if kind == "pair":
        return [good, replace(bad, twin_program="slow", paired=True)]
    causes = draw_causes(rng, distributed)
    if all(put.null for put in causes):
        return [replace(first, puts=(*natural, *causes), role="null")]
    return [good, replace(bad, puts=(*natural, *causes))]


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
        for pattern in self._patterns():
            without = Timed.of(self._lowered((pattern,)))
            truth[pattern, _DEVICE] = moments(ran, without)
            gains[pattern] = saved(ran, without)
        best = Timed.of(self._lowered(self._patterns()))
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
            # Eager programs have chains of small operators everywhere, and nobody says
            # which of them one kernel could do: known only where they were put in.
            unknown=("fusible_chain",) if "fusible_chain" not in gains else (),
        )  # fmt: skip
        text = lowered.program.trace_text({"corpus": {"source": "S"}})
        runs.write(out, run, text, truth)
        return run

    def _patterns(self) -> tuple[str, ...]:
        plan = self._plan
        found = {put.mechanism.pattern for put in plan.puts}
        if plan.paired:
            found.add(plan.case.pair.pattern)
        found |= {"launch_bound", "sync_stall", "tensor_core_unused"}
        if plan.distributed:
            found.add("comm_exposed")
        return tuple(sorted(found))

    def _lowered(self, without: Iterable[str]) -> Lowered:
        plan = self._plan
        without = set(without)
        fixed = plan.paired and plan.case.pair.pattern in without
        steps = self._bases["fixed" if fixed else plan.twin_program].copy()
        for put in plan.puts:
            if put.mechanism.pattern not in without:
                put.apply(steps, self._step_us)
            elif put.mechanism.pattern == "pageable_copy":
                put.apply(steps, self._step_us, fixed=True)
        view = self._plain
        for pattern in without & _VIEWS.keys():
            view = replace(view, **_VIEWS[pattern])
        return self._lowering.lower(steps, view, self._arrivals)

    def _causes(self, gains: dict[str, float]) -> Iterator[runs.Cause]:
        plan = self._plan
        named = set()
        if plan.paired:
            pair = plan.case.pair
            named.add(pair.pattern)
            yield runs.Cause(
                pair.pattern, pair.mechanism or pair.name, 1.0,
                saved=round(gains[pair.pattern], 5),
            )  # fmt: skip
        for put in plan.puts:
            pattern = put.mechanism.pattern
            named.add(pattern)
            yield runs.Cause(
                pattern, put.mechanism.name, round(put.strength, 3), put.null,
                put.natural, round(gains[pattern], 5),
            )  # fmt: skip
        for pattern, gain in gains.items():
            if pattern not in named:
                yield runs.Cause(pattern, "as_it_is", 0.0, natural=True,
                                 saved=round(gain, 5))  # fmt: skip
