# SPDX-License-Identifier: BSD-3-Clause
"""plans.py: draws which runs are made: programs, conditions and causes.

A mechanism edits the steps of a program. Its strength, 0 to 1, is drawn; the
schedule without it gives its cost. Its null touches the same path and
should cost nothing. Mechanisms have the same names in all sources: see pairs.toml and
perturbation/table.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.simulation import communication_causes as communication
from benchmarks.lab.corpus.simulation import device_causes as device
from benchmarks.lab.corpus.simulation import host_causes as host
from benchmarks.lab.corpus.simulation import memory_causes as memory
from benchmarks.lab.corpus.simulation import product_causes as products
from benchmarks.lab.corpus.simulation.conditions import Conditions, draw
from benchmarks.lab.corpus.simulation.items import Place, Steps
from benchmarks.lab.corpus.simulation.programs import Programs, Twin
from benchmarks.lab.corpus.workloads.pairs import Case

Edit = Callable[[Steps, float, Place], None]


@dataclass(frozen=True)
class Mechanism:
    """One way in which a pattern comes about."""

    pattern: str
    name: str
    edit: Edit
    weight: float = 1.0


#: Which patterns are put into programs, and in which ways.
MECHANISMS = (
    Mechanism("sync_stall", "item", memory.read_scalars, 3),
    Mechanism("sync_stall", "device_synchronize", memory.synchronize, 2),
    Mechanism("sync_stall", "event_synchronize", memory.wait_for_events),
    Mechanism("sync_stall", "nonzero", memory.find_rows),
    Mechanism("dataloader_bound", "no_workers", host.load_in_step, 2),
    Mechanism("dataloader_bound", "slow_workers", host.load_slowly, 2),
    Mechanism("dataloader_bound", "collate", host.collate_in_step),
    Mechanism("gc_pause", "collect_each_step", host.collect_often),
    Mechanism("gc_pause", "collect_rarely", host.collect_once),
    Mechanism("gc_pause", "collector", host.collect_twice),
    Mechanism("host_bound_python", "loop", host.loop_in_python),
    Mechanism("host_bound_python", "log_text", host.log_metrics),
    Mechanism("host_bound_python", "hooks", host.run_hooks),
    Mechanism("recompile_or_lazy_load", "lazy_load", host.load_modules),
    Mechanism("recompile_or_lazy_load", "compile_again", host.compile_again),
    Mechanism("recompile_or_lazy_load", "autotune", host.tune_convolutions),
    Mechanism("frequent_memcpy", "small_uploads", memory.upload_often, 2),
    Mechanism("frequent_memcpy", "small_downloads", memory.download_often),
    Mechanism("frequent_memcpy", "per_tensor_constants", memory.upload_constants),
    Mechanism("pageable_copy", "batch_upload", memory.upload_pageable),
    Mechanism("pageable_copy", "offload", memory.offload_pageable),
    Mechanism("pageable_copy", "results_download", memory.download_pageable),
    Mechanism("exposed_copy", "late_batch", memory.upload_late),
    Mechanism("exposed_copy", "late_results", memory.download_late),
    Mechanism("exposed_copy", "late_weights", memory.upload_weights_late),
    Mechanism("allocator_churn", "malloc_free", memory.allocate),
    Mechanism("allocator_churn", "empty_cache", memory.empty_cache),
    Mechanism("allocator_churn", "retries", memory.retry_allocation),
    Mechanism("unfused_optimizer", "single_tensor", device.update_singly, 2),
    Mechanism("unfused_optimizer", "clip_per_tensor", device.clip_singly),
    Mechanism("unfused_optimizer", "ema_per_tensor", device.average_singly),
    Mechanism("redundant_d2d", "cast", device.cast_back_and_forth),
    Mechanism("redundant_d2d", "clone", device.clone_activations),
    Mechanism("redundant_d2d", "memcpy", device.copy_memory),
    Mechanism("fusible_chain", "pointwise", device.chain_pointwise),
    Mechanism("fusible_chain", "activation", device.chain_activation),
    Mechanism("fusible_chain", "normalize", device.chain_normalize),
    Mechanism("small_grid", "one_row", device.small_grids),
    Mechanism("small_grid", "samples_alone", device.grids_per_sample),
    Mechanism("small_grid", "narrow_product", device.narrow_products),
    Mechanism("tensor_core_unused", "fp32_everywhere", products.compute_in_fp32),
    Mechanism("tensor_core_unused", "fp32_block", products.compute_block_in_fp32),
    Mechanism("tensor_core_unused", "fp32_casts", products.cast_to_fp32),
    Mechanism("misaligned_gemm", "odd_vocabulary", products.odd_vocabulary),
    Mechanism("misaligned_gemm", "odd_hidden_size", products.odd_hidden_size),
    Mechanism("misaligned_gemm", "odd_sequence", products.odd_sequence),
    Mechanism("unfused_attention", "forward_only", products.attend_forward),
    Mechanism("unfused_attention", "both_passes", products.attend_and_back),
    Mechanism("unfused_attention", "mask_and_dropout", products.attend_with_mask),
    Mechanism("launch_bound", "split_kernels", device.split_kernels),
    Mechanism("launch_bound", "elementwise_loop", device.loop_elementwise),
    Mechanism("launch_bound", "scalar_updates", device.update_scalars),
)
#: Only where there is another rank.
DISTRIBUTED = (
    Mechanism("comm_exposed", "after_backward", communication.reduce_late, 2),
    Mechanism("comm_exposed", "large_last_bucket", communication.reduce_last),
    Mechanism("comm_exposed", "slow_link", communication.reduce_slowly),
    Mechanism("small_collectives", "per_parameter", communication.reduce_singly, 2),
    Mechanism("small_collectives", "small_buckets", communication.reduce_in_pieces),
    Mechanism("small_collectives", "metrics", communication.reduce_metrics),
    Mechanism("comm_exposed", "late_each_step", communication.come_late, 2),
    Mechanism("comm_exposed", "late_once", communication.come_late_once),
    Mechanism("comm_exposed", "uneven_batches", communication.come_late_at_times),
)


_NULL = 0.25  # Of causes.
_MANY = (1, 1, 1, 1, 1, 2, 2, 3)
_NATURAL_SYNC = Mechanism("sync_stall", "loss_logged", memory.read_loss)
_NATURAL_LOADERS = (
    Mechanism("dataloader_bound", "workers_ahead", host.load_ahead),
    Mechanism("dataloader_bound", "cheap_samples", host.load_in_step),
)


@dataclass(frozen=True)
class Put:
    """A mechanism as it was put into a run."""

    mechanism: Mechanism
    strength: float
    null: bool
    natural: bool
    seed: int
    tag: str

    def apply(self, steps: Steps, step_us: float, *, fixed: bool = False) -> None:
        """Edit the steps; ``fixed``: as its fix does."""
        rng = random.Random(self.seed)
        place = Place(step_us, self.tag, self.null, rng, fixed, self.natural)
        self.mechanism.edit(steps, self.strength, place)


def draw_natural(rng: random.Random) -> tuple[Put, ...]:
    """Draw what many programs do, whether they are good or bad."""
    out = []
    if rng.random() < 0.35:
        out.append(_put(rng, _NATURAL_SYNC, "natural sync", natural=True))
    if rng.random() < 0.35:
        loader = rng.choice(_NATURAL_LOADERS)
        out.append(_put(rng, loader, "natural loader", natural=True))
    return tuple(out)


def draw_causes(rng: random.Random, distributed: bool, turn: int) -> tuple[Put, ...]:
    """Draw one to three causes of different patterns; some are null.

    Args:
        turn: Number of the drawing: the first cause of one process is each mechanism
            in turn, so that few runs have some of all.
    """
    table = (MECHANISMS[turn % len(MECHANISMS)],)
    if distributed and rng.random() < 0.7:
        table = DISTRIBUTED
    found: dict[str, Put] = {}
    for k in range(rng.choice(_MANY)):
        left = [m for m in table if m.pattern not in found]
        if not left:
            break
        patterns = sorted({m.pattern for m in left})
        weights = [sum(m.weight for m in left if m.pattern == p) for p in patterns]
        pattern = rng.choices(patterns, [w**0.5 for w in weights])[0]
        choice = [m for m in left if m.pattern == pattern]
        mechanism = rng.choices(choice, [m.weight for m in choice])[0]
        found[pattern] = _put(rng, mechanism, f"cause{k}")
        table = MECHANISMS
    return tuple(found.values())


def draw_nulls(rng: random.Random, distributed: bool, turn: int) -> tuple[Put, ...]:
    """Draw causes that touch their paths at no cost meant."""
    causes = draw_causes(rng, distributed, turn)
    return tuple(
        Put(c.mechanism, c.strength, True, False, c.seed, c.tag) for c in causes
    )


def _put(
    rng: random.Random, mechanism: Mechanism, tag: str, *, natural: bool = False
) -> Put:
    null = not natural and rng.random() < _NULL
    seed = rng.randrange(1 << 31)
    return Put(mechanism, rng.random(), null, natural or False, seed, tag)


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
