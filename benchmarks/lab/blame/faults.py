# SPDX-License-Identifier: BSD-3-Clause
"""faults.py: which fault is written where in a step, and how often.

A fault `x` of a strength is in a program; `x~` is what its fix leaves in its place.
Both draw from one part of their own: neither changes what others draw, and what is the
same in both takes as long.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lab.blame import host_faults as host
from benchmarks.lab.blame import kernel_faults as kernel
from benchmarks.lab.blame.case import Case
from benchmarks.lab.blame.script import Script

#: Writes a fault of a strength in a step.
Fault = Callable[[Script, Case, float, int], None]

BEFORE: dict[str, Fault] = {
    "recompile_or_lazy_load:first": host.first_launches,
    "recompile_or_lazy_load:first~": host.warm_launches,
    "recompile_or_lazy_load:cold": host.cold_start,
    "cpu_init_then_copy": host.made_on_host,
    "cpu_init_then_copy~": host.made_on_device,
    "allocator_churn:emptied": host.allocate,
}
#: Their strength is how many there are in a step.
BETWEEN: dict[str, Fault] = {
    "sync_stall:scalar": host.read_scalar,
    "sync_stall:explicit": host.synchronize,
    "sync_stall:event": host.wait_for_event,
    "sync_stall:shape": host.nonzero,
    "sync_stall:shape~": host.where,
    "redundant_d2d:cast": kernel.cast,
    "redundant_d2d:clone": kernel.clone,
    "redundant_d2d:memcpy": kernel.copy_memory,
    "allocator_churn:uncached": host.uncached,
    "fusible_chain": kernel.chain,
    "fusible_chain~": kernel.fused,
    "low_occupancy": kernel.low_occupancy,
    "low_occupancy~": kernel.full_occupancy,
    "small_grid": kernel.small_grid,
    "small_grid~": kernel.full_grid,
}
AFTER: dict[str, Fault] = {
    "sync_stall:copy": host.fetch_outputs,
    "host_bound_python": host.python,
    "gc_pause": host.collect_garbage,
    "recompile_or_lazy_load:again": host.compile_again,
    "loop_indexing": kernel.loop,
    "loop_indexing~": kernel.batch,
    "small_collectives": kernel.collectives_alone,
    "small_collectives~": kernel.collective_of_all,
    "allocator_churn:emptied": host.release,
}


def write(s: Script, case: Case, faults: dict[str, Fault], i: int) -> None:
    """Write the faults of a place of a step."""
    for name, fault in faults.items():
        if strength := s.has(name):
            with s.part(name.removesuffix("~")):
                fault(s, case, strength, i)


def write_between(s: Script, case: Case, i: int, n: int, of: int) -> None:
    """Write what comes after layer `n` of so many."""
    for name, fault in BETWEEN.items():
        number = round(s.has(name))
        if (n + 1) * number // of > n * number // of:
            with s.part(f"{name.removesuffix('~')}@{n}"):
                fault(s, case, number, i)
