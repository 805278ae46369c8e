# SPDX-License-Identifier: BSD-3-Clause
"""updating.py: gradients and the optimizer."""

from __future__ import annotations

from benchmarks.lab.blame.case import Case
from benchmarks.lab.blame.kernels import elementwise, multi_tensor
from benchmarks.lab.blame.pieces import Piece
from benchmarks.lab.blame.script import Script

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
