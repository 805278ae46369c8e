# SPDX-License-Identifier: BSD-3-Clause
"""communication.py: gradients reduced over ranks, well and badly.

A collective waits for the last rank, then takes the time of its bytes on the link. The
last rank is as late in a program with a fault as in the one without it.

Sharded parameters are gathered unit by unit: in the good form, the next unit is
gathered while this one computes, forward and backward.
"""

from __future__ import annotations

import random
from dataclasses import replace

from benchmarks.lab.blame.families import Case
from benchmarks.lab.blame.instructions import Call, Program
from benchmarks.lab.blame.pieces import Kernel, elementwise
from benchmarks.lab.blame.script import COMPUTE, Script

COMM = (0, 20)
OWN = "communication of the program"  #: Events that computation needs, fault or not.
_START_US = 18.0
#: Parts of the gradients by bucket: the last is small, so that it hides.
_BUCKETS = (0.06, 0.24, 0.32, 0.34, 0.04)
_WORLD = 8
_SMALL_BYTES = 8192
#: Of each collective: its kernel, and its operator.
_NAMES = {
    "allreduce": ("AllReduce_Sum_bf16_RING_LL", "allreduce_"),
    "broadcast": ("Broadcast_RING_LL", "broadcast_"),
    "all_gather": ("AllGather_RING_LL", "_allgather_base_"),
    "reduce_scatter": ("ReduceScatter_Sum_bf16_RING_LL", "_reduce_scatter_base_"),
}


def ratio(case: Case) -> float:
    """The time of a step's reductions, of its device time."""
    return random.Random(f"{case.seed}ratio").uniform(0.1, 0.3)


def reduce(s: Script, us: float, what: str = "allreduce", after: bool = True) -> None:
    """Launch a collective whose bytes take so long, after what computes, or now."""
    late = s.rng.expovariate(1 / 6.0)
    numel = max(int(us * s.gpu.link * 1000 / 2), 1)
    us = _START_US + late + us * s.rng.lognormvariate(0, 0.03)
    facts = {
        "Collective name": what,
        "In msg nelems": numel,
        "Out msg nelems": numel,
        "Group size": _WORLD,
        "dtype": "BFloat16",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
    }
    kernel_name, op = _NAMES[what]
    kernel = Kernel(
        f"ncclDevKernel_{kernel_name}(ncclDevKernelArgsStorage<4096ul>)",
        blocks=24, threads=544, registers=96, shared=42024,
    )  # fmt: skip
    with (
        s.op(f"c10d::{op}", "record_param_comms", **facts),
        s.range(f"nccl:{op[:-1]}"),
    ):
        if after:
            s.event(f"{s.path}{s.works}", COMPUTE)
            s.hold(f"{s.path}{s.works}", COMM)
        s.launch(kernel, COMM, us)
        call = s.code[s.thread][-1]
        call.works[0].args.update(facts)  # type: ignore[union-attr]


def bucket(s: Script, case: Case, i: int, n: int, layers: int) -> None:
    """Reduce the gradients that are ready after the backward pass of layer `n`."""
    if not case.family.distributed or case.family.sharded:
        return
    for number, part in enumerate(_BUCKETS):
        if n != round((layers - 1) * (1 - (number + 1) / len(_BUCKETS))):
            continue
        if s.has("comm_exposed"):
            continue
        node = "torch::autograd::AccumulateGrad"
        with (
            s.part(f"/reduce{i}.{number}"),
            s.op(f"autograd::engine::evaluate_function: {node}", node),
        ):
            reduce(s, part * ratio(case) * case.device_us)
            if s.has("comm_stream_serialised"):
                s.event(f"held{i}.{number}", COMM)
                s.hold(f"held{i}.{number}", COMPUTE)


def finish(s: Script, case: Case, i: int) -> None:
    """Let the optimizer wait for the reductions."""
    if not case.family.distributed:
        return
    if s.has("comm_exposed") and not case.family.sharded:
        for number, part in enumerate(_BUCKETS):
            with s.part(f"/reduce{i}.{number}"):
                reduce(s, part * ratio(case) * case.device_us)
    s.event(f"{OWN}{i}", COMM)
    s.hold(f"{OWN}{i}", COMPUTE)


def reduce_now(s: Script, tensors: int) -> None:
    """Scale and reduce small tensors as one; later work waits for it."""
    with s.op("aten::div_"):
        s.launch(elementwise("mul", 4096 * tensors, 1, 4))
    reduce(s, _SMALL_BYTES * tensors / (s.gpu.link * 1000))
    event = f"{s.path}{s.works}"
    s.event(event, COMM)
    s.hold(event, COMPUTE)


def hidden(program: Program) -> Program:
    """Return the program whose computation waits for none of its own collectives."""
    threads = {
        tid: [
            it
            for it in code
            if not (
                isinstance(it, Call) and it.gates.startswith(OWN) and it.on == COMPUTE
            )
        ]
        for tid, code in program.threads.items()
    }
    return replace(program, threads=threads)


def buffers(s: Script, i: int) -> None:
    """Send a module's buffers from the first rank before each forward pass."""
    number = round(s.has("data_parallel"))
    if not number:
        return
    with s.part(f"/buffers{i}"):
        with s.op("aten::flatten_dense_tensors", "aten::cat"):
            s.launch(elementwise("copy", 512 * number, 1, 4))
        reduce(s, _SMALL_BYTES / (s.gpu.link * 1000), "broadcast")
        s.event(f"buffers{i}", COMM)
        s.hold(f"buffers{i}", COMPUTE)
        with s.op("aten::unflatten_dense_tensors"):
            pass
        for _ in range(number):
            with s.op("aten::copy_"):
                s.launch(elementwise("copy", 512, 1, 4))


_UNITS = 6
#: The first unit's part: it is small, as nothing hides its gathering.
_FIRST = 0.02


def _begin(unit: int, layers: int) -> int:
    return 0 if unit == 0 else 1 + (unit - 1) * (layers - 1) // (_UNITS - 1)


def _us(case: Case, unit: int) -> float:
    part = _FIRST if unit == 0 else (1 - _FIRST) / (_UNITS - 1)
    return part * ratio(case) * case.device_us / 2


def before_layer(s: Script, case: Case, pass_: str, n: int, layers: int) -> None:
    """Have the unit that begins with layer `n` of this pass gathered."""
    if not case.family.sharded:
        return
    order = list(range(_UNITS))
    firsts = [_begin(unit, layers) for unit in order]
    if pass_ == "backward":
        lasts = [*(first - 1 for first in firsts[1:]), layers - 1]
        order, firsts = order[::-1], lasts[::-1]
    if n not in firsts:
        return
    at = firsts.index(n)
    own = f"{OWN}{s.step}{pass_}"
    late = s.has("comm_exposed") > 0
    # On time, the second is gathered with the first.
    now = [at] if late else [0, 1] if at == 0 else [at + 1]
    for which in now:
        if which < _UNITS:
            with s.part(f"{s.step}/{pass_}gather{which}"):
                reduce(s, _us(case, order[which]), "all_gather", after=late)
                s.event(f"{own}{which}", COMM)
    s.hold(f"{own}{at}", COMPUTE)


def after_layer(s: Script, case: Case, n: int, layers: int) -> None:
    """Reduce the gradients of the unit whose backward pass ends with layer `n`."""
    if not case.family.sharded:
        return
    for unit in range(_UNITS):
        if n == _begin(unit, layers):
            with s.part(f"{s.step}/scatter{unit}"):
                reduce(s, _us(case, unit) / 2, "reduce_scatter")
