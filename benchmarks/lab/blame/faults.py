# SPDX-License-Identifier: BSD-3-Clause
"""faults.py: which fault is written where in a step, and how often.

A fault `x` of a strength is in a program; `x~` is what its fix leaves in its place.
Both draw from a random stream of their own: neither changes other draws, and work that
is the same in both takes the same time.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.lab.blame import communication
from benchmarks.lab.blame import host_faults as host
from benchmarks.lab.blame.families import Case
from benchmarks.lab.blame.pieces import Kernel, elementwise
from benchmarks.lab.blame.script import Script

_CHAIN = ("mul", "sigmoid", "add", "tanh")


def cast(s: Script, case: Case, number: float, i: int) -> None:
    """Values cast to another type and back at a layer."""
    numel = _copied(s, case, number)
    facts = {
        "Input type": ["c10::BFloat16", "float", "Scalar"],
        "Input Dims": [[int(numel)], [int(numel)], []],
    }
    with (
        s.frame("train.py(67): to_compute_type"),
        s.op("aten::to", "aten::_to_copy"),
        s.op("aten::copy_", **facts),
    ):
        s.launch(elementwise("cast", numel, 2))


def clone(s: Script, case: Case, number: float, i: int) -> None:
    """An unnecessary copy."""
    numel = _copied(s, case, number)
    facts = {
        "Input type": ["float", "float", "Scalar"],
        "Input Dims": [[int(numel)], [int(numel)], []],
        "Input Strides": [[1], [1], []],
    }
    with (
        s.frame("train.py(69): keep"),
        s.op("aten::clone"),
        s.op("aten::copy_", **facts),
    ):
        s.launch(elementwise("copy", numel, 2))


def copy_memory(s: Script, case: Case, number: float, i: int) -> None:
    """The same of memory in one piece."""
    numel = _copied(s, case, number)
    with (
        s.frame("train.py(69): keep"),
        s.op("aten::clone", "aten::copy_"),
    ):
        s.copy_inside(numel * 4)


def _copied(s: Script, case: Case, number: float) -> float:
    us = 0.4 * case.device_us / number * s.rng.uniform(0.3, 1)
    return us * s.gpu.bandwidth * 750 / 6


def chain(s: Script, case: Case, number: float, i: int) -> None:
    """Elementwise operators one after another."""
    with s.frame("train.py(65): gate"):
        for name in _CHAIN:
            with s.op(f"aten::{name}"):
                s.launch(elementwise(name, _linked(s, case, number)))


def fused(s: Script, case: Case, number: float, i: int) -> None:
    """All of them in one kernel, which reads each value once, and writes it once and
    what the backward pass needs of what lies between."""
    kept = random.Random(f"{case.seed}kept").randrange(len(_CHAIN))
    kept = kept if case.family.trains else 0
    with (
        s.frame("train.py(65): gate"),
        s.op("triton_poi_fused_add_mul_sigmoid_tanh_0"),
    ):
        s.launch(elementwise("triton_poi_fused", _linked(s, case, number), 1 + kept))


def _linked(s: Script, case: Case, number: float) -> float:
    us = 0.35 * case.device_us / number / len(_CHAIN)
    return us * s.gpu.bandwidth * 750 / 4


def low_occupancy(
    s: Script, case: Case, number: float, i: int, slow: bool = True
) -> None:
    """A kernel with room for few threads, as slow as the memory's latency makes it."""
    us, fit = _long(s, case, number), s.rng.choice((1, 2))
    less = s.rng.uniform(0.6, 1.0)
    shared = s.gpu.shared // fit - 1024
    bad = Kernel("softmax_rows_kernel", 0, 0, 16 * s.gpu.sms, 128, 64, shared)
    gained = min(1.0, bad.occupancy(s.gpu) / 25) ** less
    good = Kernel("softmax_rows_kernel", 0, 0, 16 * s.gpu.sms, 256, 32)
    with s.op("my_ops::softmax_rows"):
        s.launch(bad if slow else good, us=us if slow else us * gained)


def full_occupancy(s: Script, case: Case, number: float, i: int) -> None:
    """The same with smaller tiles."""
    low_occupancy(s, case, number, i, slow=False)


def small_grid(s: Script, case: Case, number: float, i: int, slow: bool = True) -> None:
    """A kernel with too few blocks: others would take their part of the work, but share
    memory and clock with them."""
    us = _long(s, case, number)
    blocks = max(1, int(s.rng.uniform(0.1, 0.5) * s.gpu.sms))
    less = s.rng.uniform(0.7, 1.0)
    name = "void my_scan_kernel<float, 256>"
    kernel = Kernel(name, 0, 0, blocks if slow else 8 * s.gpu.sms, 256)
    gained = (blocks / s.gpu.sms) ** less
    with s.op("my_ops::scan"):
        s.launch(kernel, us=us if slow else us * gained)


def full_grid(s: Script, case: Case, number: float, i: int) -> None:
    """The same with the work of each block divided."""
    small_grid(s, case, number, i, slow=False)


def _long(s: Script, case: Case, number: float) -> float:
    return max(0.4 * case.device_us / number, 40.0) * s.drawn(1, 0.2)


def loop(s: Script, case: Case, number: float, i: int) -> None:
    """`for i in range(n): out[i] = torch.tanh(x[i])`."""
    with s.frame("train.py(77): each_row"):
        for k in range(round(number)):
            index = {"Concrete Inputs": ["", "0", str(k)]}
            with s.op("aten::select", **index):
                pass
            for op, what in (("aten::tanh", "tanh"), ("aten::copy_", "copy")):
                with s.op(op):
                    s.launch(elementwise(what, 512))


def batch(s: Script, case: Case, number: float, i: int) -> None:
    """`out = torch.tanh(x)`."""
    with s.frame("train.py(77): each_row"), s.op("aten::tanh"):
        s.launch(elementwise("tanh", 512 * number))


def collectives_alone(s: Script, case: Case, number: float, i: int) -> None:
    """Small tensors reduced one by one."""
    with s.frame("train.py(94): reduce_metrics"):
        for _ in range(round(number)):
            communication.reduce_now(s, 1)


def collective_of_all(s: Script, case: Case, number: float, i: int) -> None:
    """All of them in one collective."""
    with s.frame("train.py(94): reduce_metrics"):
        communication.reduce_now(s, round(number))


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
    "redundant_d2d:cast": cast,
    "redundant_d2d:clone": clone,
    "redundant_d2d:memcpy": copy_memory,
    "allocator_churn:uncached": host.uncached,
    "fusible_chain": chain,
    "fusible_chain~": fused,
    "low_occupancy": low_occupancy,
    "low_occupancy~": full_occupancy,
    "small_grid": small_grid,
    "small_grid~": full_grid,
}
AFTER: dict[str, Fault] = {
    "sync_stall:copy": host.fetch_outputs,
    "host_bound_python": host.python,
    "gc_pause": host.collect_garbage,
    "recompile_or_lazy_load:again": host.compile_again,
    "loop_indexing": loop,
    "loop_indexing~": batch,
    "small_collectives": collectives_alone,
    "small_collectives~": collective_of_all,
    "allocator_churn:emptied": host.release,
}


def write(s: Script, case: Case, faults: dict[str, Fault], i: int) -> None:
    """Write the faults of a place of a step."""
    for name, fault in faults.items():
        if strength := s.has(name):
            with s.part(name.removesuffix("~")):
                fault(s, case, strength, i)


def write_between(s: Script, case: Case, i: int, n: int, of: int) -> None:
    """Write what comes after layer `n` of `of`."""
    for name, fault in BETWEEN.items():
        number = round(s.has(name))
        if (n + 1) * number // of > n * number // of:
            with s.part(f"{name.removesuffix('~')}@{n}"):
                fault(s, case, number, i)
