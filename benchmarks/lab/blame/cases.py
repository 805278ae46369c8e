# SPDX-License-Identifier: BSD-3-Clause
"""cases.py: draws programs and their faults.

Each fault defines its possible programs, the range of its strength, and how busy the
device is in them without it (`ahead`: the device's time over the host's).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from benchmarks.lab.blame.chrome_trace import Recording
from benchmarks.lab.blame.families import FAMILIES, Case, Family
from benchmarks.lab.blame.gpus import machine_of
from benchmarks.lab.blame.writing import sizes

LAUNCHES = "launch_bound"
COMMUNICATION = "comm_exposed"
CLEAN = "clean"
_EVERY = (0.4, 3.0)
_BUSY = (1.3, 3.0)


@dataclass(frozen=True)
class Drawn:
    """How a fault is drawn."""

    strength: tuple[float, float]
    ahead: tuple[float, float] = _EVERY
    trains: bool | None = None
    distributed: bool | None = None
    sharded: bool | None = None
    stack: bool = False  #: Only a recording with Python frames shows it.
    shapes: bool = False  #: Only one with shapes does.
    cuda: bool = False  #: A recording on AMD does not: see `kernel_facts`.
    #: What the fault is called by torchtraceap, if not by the name before ":".
    patterns: tuple[str, ...] = ()


FAULTS: dict[str, Drawn] = {
    "sync_stall:scalar": Drawn((1, 6), (0.7, 3.0)),
    "sync_stall:shape": Drawn((1, 4), (0.7, 3.0)),
    "sync_stall:copy": Drawn((1, 1), (0.7, 2.0)),
    "sync_stall:event": Drawn((1, 4), (0.7, 3.0)),
    "sync_stall:explicit": Drawn((1, 6), (0.7, 3.0)),
    LAUNCHES: Drawn((1, 1), (0.1, 0.6), patterns=(LAUNCHES, "missed_cuda_graph")),
    "dataloader_bound:main": Drawn((0.1, 1.5), trains=True),
    "dataloader_bound:workers": Drawn((0.1, 1.0), trains=True),
    COMMUNICATION: Drawn((1, 1), _BUSY, distributed=True),
    "small_collectives": Drawn((10, 40), _BUSY, distributed=True),
    "comm_stream_serialised": Drawn((1, 1), _BUSY, distributed=True, sharded=False),
    "data_parallel": Drawn((10, 40), (0.7, 2.0), distributed=True, sharded=False),
    "redundant_d2d:cast": Drawn((2, 6), _BUSY, shapes=True),
    "redundant_d2d:memcpy": Drawn((2, 6), _BUSY),
    "redundant_d2d:clone": Drawn((2, 6), _BUSY, shapes=True),
    "exposed_copy": Drawn((0.05, 0.4), _BUSY),
    "frequent_memcpy": Drawn((12, 50)),
    "pageable_copy": Drawn((0.1, 0.6), cuda=True),
    "host_bound_python": Drawn((0.1, 1.0), stack=True),
    "gc_pause": Drawn((0.1, 1.0), stack=True),
    "graph_break": Drawn((0.1, 0.8), (0.5, 2.0)),
    "recompile_or_lazy_load:first": Drawn((0.2, 2.0)),
    "recompile_or_lazy_load:cold": Drawn((0.2, 2.0)),
    "recompile_or_lazy_load:again": Drawn((0.2, 2.0)),
    "unfused_optimizer": Drawn((1, 1), (0.8, 3.0), trains=True),
    "allocator_churn:emptied": Drawn((3, 12)),
    "allocator_churn:uncached": Drawn((2, 8)),
    "loop_indexing": Drawn((20, 80), shapes=True),
    "zero_grad_fill": Drawn((1, 1), (0.8, 3.0), trains=True),
    "low_occupancy": Drawn((1, 3), _BUSY, cuda=True),
    "small_grid": Drawn((1, 3), _BUSY),
    "fusible_chain": Drawn((2, 6), _BUSY, stack=True),
    "cpu_init_then_copy": Drawn((0.1, 0.6), shapes=True),
}


@dataclass(frozen=True)
class Sample:
    """A program with its faults, and what is recorded of it."""

    case: Case
    faults: dict[str, float]
    recording: Recording
    ahead: float


def pattern_of(fault: str) -> str:
    """Return the pattern that a fault is an example of."""
    return fault.split(":")[0]


def names_of(fault: str) -> tuple[str, ...]:
    """Return the patterns that count as correct for a fault."""
    return FAULTS[fault].patterns or (pattern_of(fault),)


def sample(seed: int, patterns: list[str]) -> Sample:
    """Draw a program with one fault of these patterns, in a third of all with more."""
    rng = random.Random(f"sample{seed}")
    pattern = patterns[seed % len(patterns)]
    of = [fault for fault in FAULTS if pattern_of(fault) == pattern]
    first = rng.choice(of) if of else ""
    drawn = FAULTS.get(first, Drawn((0, 0), (1.5, 3.0)))
    family = rng.choice([family for family in FAMILIES if _fits(drawn, family)])
    faults = [first] if first else []
    if first and rng.random() < 1 / 3:
        others = [f for f, d in FAULTS.items() if f != LAUNCHES and _fits(d, family)]
        for other in rng.sample(others, rng.choice((1, 1, 2))):
            if all(pattern_of(other) != pattern_of(f) for f in faults):
                faults.append(other)
    stack = rng.random() < 0.4 or any(FAULTS[f].stack for f in faults)
    shapes = rng.random() < 0.4 or any(FAULTS[f].shapes for f in faults)
    gpu = machine_of(rng)
    while gpu.amd and any(FAULTS[f].cuda for f in faults):
        gpu = machine_of(rng)
    case = Case(
        family, gpu, seed, rng.choice((3, 4, 5)), 1.0, stack,
        compiled="graph_break" in faults, loader=family.trains,
        varying=rng.random() < 0.3,
    )  # fmt: skip
    ahead = _log_uniform(rng, drawn.ahead)
    strengths = {f: _log_uniform(rng, FAULTS[f].strength) for f in faults}
    # The form of 2021, before torch.compile, is not written with stacks and shapes.
    recent = {"graph_break", "recompile_or_lazy_load:again"} & {*faults}
    old = gpu.capability[0] < 8 and not (stack or shapes or recent)
    recording = Recording(
        stack,
        shapes,
        syncs=not gpu.amd and rng.random() < 0.3,
        shadows=rng.random() < 0.5,
        old=old and rng.random() < 0.5,
    )
    return Sample(_scaled(case, ahead), strengths, recording, ahead)


def _fits(drawn: Drawn, family: Family) -> bool:
    return all(
        asked in (None, is_so)
        for asked, is_so in (
            (drawn.trains, family.trains),
            (drawn.distributed, family.distributed),
            (drawn.sharded, family.sharded),
        )
    )


def _log_uniform(rng: random.Random, between: tuple[float, float]) -> float:
    low, high = between
    return float(low * (high / low) ** rng.random())


def _scaled(case: Case, ahead: float) -> Case:
    """Choose the batch by which the device takes `ahead` times as long as the host."""
    scale = case.scale
    for _ in range(5):
        device, host = sizes(replace(case, scale=scale, steps=1))
        scale = min(max(scale * (ahead * host / device) ** 1.2, 1e-3), 1e3)
    device, host = sizes(replace(case, scale=scale, steps=1))
    return replace(case, scale=scale, device_us=device, host_us=host)
