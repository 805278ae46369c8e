# SPDX-License-Identifier: BSD-3-Clause
"""plans.py: draws which runs are made: programs, conditions and causes."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.simulation.conditions import Conditions, draw
from benchmarks.lab.corpus.simulation.drawing import (
    Put,
    draw_causes,
    draw_natural,
    draw_nulls,
)
from benchmarks.lab.corpus.simulation.programs import Programs, Twin
from benchmarks.lab.corpus.workloads.pairs import Case

_DISTRIBUTED = 0.2
#: What a dry run does not see: time of the host, memory of the driver.
_UNSEEN = frozenset(
    ("dataloader_bound", "host_bound_python", "gc_pause", "allocator_churn",
     "recompile_or_lazy_load", "graph_break", "missed_cuda_graph")
)  # fmt: skip


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
        puts = (*natural, *draw_nulls(rng, distributed, number))
        return [replace(first, puts=puts, role="null")]
    good = replace(first, role="fixed", twin=f"{stem}-b")
    bad = replace(first, name=f"{stem}-b", role="slow", twin=f"{stem}-a")
    if kind == "pair":
        return [good, replace(bad, twin_program="slow", paired=True)]
    causes = draw_causes(rng, distributed, number)
    if all(put.null for put in causes):
        return [replace(first, puts=(*natural, *causes), role="null")]
    return [good, replace(bad, puts=(*natural, *causes))]
