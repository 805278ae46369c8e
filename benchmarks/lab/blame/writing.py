# SPDX-License-Identifier: BSD-3-Clause
"""writing.py: the program of a family, step by step, with its faults."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.lab.blame import communication, faults, step_parts
from benchmarks.lab.blame.families import Case
from benchmarks.lab.blame.instructions import Program
from benchmarks.lab.blame.pieces import Piece, reduction
from benchmarks.lab.blame.script import AUTOGRAD, COMPUTE, Script


def program_of(case: Case, causes: dict[str, float]) -> Program:
    """Write the program with these faults, by their strengths."""
    s = Script(case.gpu, case.seed, causes, case.stack)
    with s.frame("train.py(140): <module>"), s.frame("train.py(96): main"):
        for i in range(case.steps):
            with s.part(f"step{i}"), s.range(f"ProfilerStep#{case.first + i}"):
                s.step = s.path
                size = s.rng.uniform(0.85, 1.15) if case.varying else 1.0
                layers = case.family.model(case.gpu, case.scale * size)
                _step(s, case, layers, i)
    with s.part("end"), s.uncaptured():
        s.wait("cudaDeviceSynchronize", ("device", 0))
    world = 8 if case.family.distributed else 1
    return Program(case.gpu, s.code, step_parts.workers(s, case), world=world)


def _step(s: Script, case: Case, layers: list[Piece], i: int) -> None:
    step_parts.batch(s, case, i)
    with s.frame(
        "train.py(52): train_step" if case.family.trains else "serve.py(31): step"
    ):
        faults.write(s, case, faults.BEFORE, i)
        if case.family.trains:
            step_parts.zero_grad(s, layers)
        with s.frame(f"nn.Module: {case.family.module}_0"), ExitStack() as ranges:
            if case.family.distributed:
                sharded = case.family.sharded
                wrapper = "FullySharded" if sharded else "Distributed"
                ranges.enter_context(s.range(f"{wrapper}DataParallel.forward"))
                communication.buffers(s, i)
            if case.compiled:
                step_parts.compiled_forward(s, case, layers, i)
            else:
                _forward(s, case, layers, i)
        if case.family.trains:
            with s.part("loss"), s.op("aten::cross_entropy_loss", "aten::nll_loss"):
                s.launch(reduction(4096, "nll_loss"))
            _backward(s, case, layers, i)
            step_parts.optimizer(s, case, layers)
        faults.write(s, case, faults.AFTER, i)


def _forward(s: Script, case: Case, layers: list[Piece], i: int) -> None:
    for n, piece in enumerate(layers):
        communication.before_layer(s, case, "forward", n, len(layers))
        with s.part(f"layer{n}"):
            s.piece(piece)
        faults.write_between(s, case, i, n, len(layers))


def _backward(s: Script, case: Case, layers: list[Piece], i: int) -> None:
    with s.part("backward"):
        with (
            s.frame("torch/_tensor.py(480): backward"),
            s.frame("torch/autograd/__init__.py(197): backward"),
            s.frame("<built-in method run_backward of EngineBase object>"),
        ):
            s.host(15)
            s.signal(f"backward{i}")
            with s.on_thread(AUTOGRAD):
                _nodes(s, case, layers, i)
            s.wait_for(f"gradients{i}", 30)
        communication.finish(s, case, i)


def _nodes(s: Script, case: Case, layers: list[Piece], i: int) -> None:
    s.wait_for(f"backward{i}", 30)
    number = len(layers)
    for n, piece in zip(reversed(range(number)), reversed(layers), strict=True):
        communication.before_layer(s, case, "backward", n, number)
        with s.part(f"layer{n}"):
            if piece.back:
                with s.op(
                    f"autograd::engine::evaluate_function: {piece.node}", piece.node
                ):
                    s.run(piece.back)
            step_parts.accumulate(s, piece)
        with s.part(f"bucket{n}"):
            communication.bucket(s, case, i, n, number)
        communication.after_layer(s, case, n, number)
    s.signal(f"gradients{i}")


def sizes(case: Case) -> tuple[float, float]:
    """Return a step's time on the device and on the host, each by itself."""
    program = program_of(case, {})
    device = host = 0.0
    for code in program.threads.values():
        for it in code:
            device += sum(
                w.us + w.gap for w in getattr(it, "works", ()) if w.stream == COMPUTE
            )
            host += getattr(it, "us", 0.0)
    return device / case.steps, host / case.steps
