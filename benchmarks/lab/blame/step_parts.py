# SPDX-License-Identifier: BSD-3-Clause
"""step_parts.py: the parts of a step: where its batch comes from, a forward pass that
torch.compile made, gradients and the optimizer."""

from __future__ import annotations

import random
from contextlib import ExitStack

from benchmarks.lab.blame import communication, faults
from benchmarks.lab.blame.families import Case
from benchmarks.lab.blame.instructions import Workers
from benchmarks.lab.blame.pieces import Piece, elementwise, multi_tensor
from benchmarks.lab.blame.script import COMPUTE, PINNED, Script

_WORKERS = 4
_FETCH = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
_COPIES = (0, 14)


def workers(s: Script, case: Case) -> Workers:
    """Return the loader's processes: fast enough, or behind by the fault's strength."""
    rng = random.Random(f"{case.seed}loader")
    behind = s.has("dataloader_bound:workers")
    each = 1 + behind if behind else rng.uniform(0.3, 0.8)
    mean = each * case.step_us * _WORKERS
    times = [mean * rng.lognormvariate(0, 0.05) for _ in range(case.steps)]
    return Workers(_WORKERS, times, behind=behind > 0)


def batch(s: Script, case: Case, i: int) -> None:
    """Fetch a batch and copy it."""
    with s.part("loader"), s.frame("train.py(47): next_batch"):
        if own := s.has("dataloader_bound:main"):
            _in_the_process(s, own * case.step_us)
        elif case.loader:
            with (
                s.uncaptured(),
                s.range(_FETCH.format("MultiProcessing")),
                s.frame("torch/utils/data/dataloader.py(628): __next__"),
            ):
                s.host(20)
                s.take(i, 60)
    with s.part("input"), s.frame("train.py(49): to_device"):
        _to_device(s, case, i)


def _in_the_process(s: Script, us: float) -> None:
    with (
        s.uncaptured(),
        s.range(_FETCH.format("SingleProcess")),
        s.frame("torch/utils/data/dataloader.py(628): __next__"),
        s.frame("torch/utils/data/_utils/fetch.py(47): fetch"),
    ):
        for _ in range(6):
            with s.frame("dataset.py(31): __getitem__"):
                s.host(us / 7)
        with s.op("aten::stack"):
            s.host(us / 7)


def _to_device(s: Script, case: Case, i: int) -> None:
    gpu = s.gpu
    if number := s.has("frequent_memcpy"):
        with s.part("small"):
            _small_copies(s, number)
    elif number := s.has("frequent_memcpy~"):
        with s.part("packed"), s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.copy("HtoD", 8 * number, PINNED)
    if share := s.has("pageable_copy"):
        size = max(share * case.step_us * gpu.pageable * 1000, 1e6)
        with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.blocking_copy("HtoD", size)
    elif size := s.has("pageable_copy~"):
        with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.copy("HtoD", max(size * case.step_us * gpu.pageable * 1000, 1e6), PINNED)
    _large_copy(s, case, i)
    with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
        s.copy("HtoD", 32_000, PINNED)


def _large_copy(s: Script, case: Case, i: int) -> None:
    """Copy the batch before the step, or the next one beside it."""
    exposed = s.has("exposed_copy")
    share = exposed or s.has("exposed_copy~")
    if not share:
        return
    size = share * case.device_us * s.gpu.pinned * 1000
    numbers = [i] if exposed else [i + 1] if i else [0, 1]
    if not exposed and i:
        s.hold(f"batch{i}", COMPUTE)
    for number in numbers:
        if number >= case.steps:
            continue
        with (
            s.part(f"/batch{number}"),
            s.op("aten::to", "aten::_to_copy", "aten::copy_"),
        ):
            s.copy("HtoD", size, PINNED, COMPUTE if exposed else _COPIES)
        if not exposed:
            s.event(f"batch{number}", _COPIES)
            if number == 0:
                s.hold("batch0", COMPUTE)


def _small_copies(s: Script, number: float) -> None:
    """Values copied one by one, each with a wait."""
    for _ in range(round(number)):
        with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.blocking_copy("HtoD", 8)
        s.host(s.gpu.dispatch * s.slow)


_DISPATCH = 0.35  # Of what an operator costs the host, what a compiled call does.
_GUARDS_US = 45.0


def compiled_forward(s: Script, case: Case, layers: list[Piece], i: int) -> None:
    """Call the graph, or one graph after another: a break calls the rest of the
    function from inside, as its own region."""
    share = s.has("graph_break")
    rng = random.Random(f"{case.seed}breaks")
    number = rng.choice((1, 2, 3, 4)) if share else 0
    at = {round((k + 1) * len(layers) / (number + 1)): k + 1 for k in range(number)}
    before, s.slow = s.slow, s.slow * _DISPATCH
    with ExitStack() as regions:
        _enter(s, regions, 0)
        graph = ExitStack()
        graph.enter_context(s.op("## Call CompiledFxGraph fkq3 ##"))
        for n, piece in enumerate(layers):
            if n in at:
                graph.close()
                with s.part(f"break{n}"):
                    _break(s, share * case.step_us / number)
                _enter(s, regions, at[n])
                graph.enter_context(s.op(f"## Call CompiledFxGraph fkq3{n} ##"))
            communication.before_layer(s, case, "forward", n, len(layers))
            with s.part(f"layer{n}"):
                for names, kernels in piece.ops:
                    with s.op(names[-1]):
                        for kernel in kernels:
                            s.launch(kernel)
            faults.write_between(s, case, i, n, len(layers))
        graph.close()
    s.slow = before


def _enter(s: Script, regions: ExitStack, number: int) -> None:
    if number:
        regions.enter_context(
            s.frame(f"train.py(58): torch_dynamo_resume_in_forward_at_{57 + number}")
        )
    else:
        regions.enter_context(s.frame("train.py(57): forward"))
    with s.part(f"guards{number}"), s.uncaptured(), s.op("TorchDynamo Cache Lookup"):
        s.host(_GUARDS_US)
    regions.enter_context(s.op(f"Torch-Compiled Region: {number}/0"))


def _break(s: Script, us: float) -> None:
    """What cannot be compiled runs as it stands."""
    with (
        s.uncaptured(),
        s.frame("train.py(58): show"),
        s.frame("<built-in function print>"),
    ):
        s.host(us)


_SGD = (("aten::mul_", "mul", 1), ("aten::add_", "add", 2), ("aten::add_", "add", 2))
_CHUNK = 30  # Tensors a launch of a multi-tensor kernel takes.
_NODE = "torch::autograd::AccumulateGrad"


def zero_grad(s: Script, layers: list[Piece]) -> None:
    """Drop the gradients, or fill them with zeros."""
    with (
        s.part("zero_grad"),
        s.range("Optimizer.zero_grad#SGD.zero_grad"),
        s.frame("torch/optim/optimizer.py(936): zero_grad"),
    ):
        s.host(15)
        if s.has("zero_grad_fill"):
            for numel in _parameters(layers):
                with s.op("aten::zero_"):
                    s.launch(elementwise("fill", numel, 0, 4))


def accumulate(s: Script, piece: Piece) -> None:
    """Keep a gradient: where there is one already, add to it."""
    for number, numel in enumerate(piece.parameters):
        with s.op(f"autograd::engine::evaluate_function: {_NODE}", _NODE):
            if s.has("zero_grad_fill"):
                with s.part(f"add{number}"), s.op("aten::add_"):
                    s.launch(elementwise("add", numel, 2, 4))
            else:
                with s.op("aten::detach"):
                    pass


def optimizer(s: Script, case: Case, layers: list[Piece]) -> None:
    """Update all parameters at once, or one by one."""
    numels = _parameters(layers)
    alone = s.has("unfused_optimizer") > 0
    with (
        s.part("optimizer"),
        s.range("Optimizer.step#SGD.step"),
        s.frame("torch/optim/sgd.py(110): step"),
    ):
        s.host(30)
        if alone:
            with (
                s.part("alone"),
                s.frame("torch/optim/sgd.py(320): _single_tensor_sgd"),
            ):
                for numel in numels:
                    for op, what, reads in _SGD:
                        with s.op(op):
                            s.launch(elementwise(what, numel, reads, 4))
        else:
            with s.part("all"), s.op("aten::_fused_sgd_"):
                for at in range(0, len(numels), _CHUNK):
                    chunk = sum(numels[at : at + _CHUNK])
                    s.launch(multi_tensor(chunk, 5, "FusedSgdMathFunctor"))


def _parameters(layers: list[Piece]) -> list[int]:
    return [numel for piece in layers for numel in piece.parameters]
