# SPDX-License-Identifier: BSD-3-Clause
"""device_twins.py: twins that give the device its work badly.

Too many small kernels, too slow kernels, memory taken and given back. For the
comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import functools
import types

import torch
from torch import Tensor, nn

from workloads.training import Training

EPSILON = 1e-5


class ScalesRowByRow(Training):
    """Standardises each sample's outputs in a Python loop."""

    def refine(self, outputs: Tensor) -> Tensor:
        rows = []
        for i in range(len(outputs)):
            row = outputs[i]  # cause: loop_over_samples
            rows.append((row - row.mean()) / (row.std() + EPSILON))
        return torch.stack(rows)


class ScalesTogether(Training):
    """Standardises all samples at once."""

    def refine(self, outputs: Tensor) -> Tensor:
        rest = tuple(range(1, outputs.dim()))
        mean, std = outputs.mean(rest, keepdim=True), outputs.std(rest, keepdim=True)
        return (outputs - mean) / (std + EPSILON)


class AdamOneByOne(Training):
    """Updates parameter after parameter, a dozen small kernels for each."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), foreach=False, fused=False)


class AdamTogether(Training):
    """Updates all parameters together: fused on a GPU, foreach elsewhere."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        cuda = self.device.type == "cuda"
        parameters = self.model.parameters()
        return torch.optim.AdamW(parameters, fused=cuda, foreach=not cuda)


class FillsGradients(Training):
    """Writes zeros into every gradient and lets backward add to them."""

    def clear(self) -> None:
        self.model.zero_grad(set_to_none=False)  # cause: zero_grad_fill


class ForbidsTf32(Training):
    """Multiplies matrices in full fp32, where the tensor cores are not used."""

    allow_tf32 = False


class EmptiesCache(Training):
    """Gives the allocator's memory back to the driver in every step."""

    def adjust(self) -> None:
        torch.cuda.empty_cache()  # cause: empty_cache_in_step


def recur(rnn: nn.LSTM, x: Tensor) -> Tensor:
    """Run one LSTM layer a cell at a time, in plain tensor operations.

    Equals ``rnn(x)[0]`` but for rounding; ``x`` is (batch, time, width).
    """
    h = c = x.new_zeros(len(x), rnn.hidden_size)
    seen = []
    for t in range(x.shape[1]):
        mixed = x[:, t] @ rnn.weight_ih_l0.T + rnn.bias_ih_l0
        gates = mixed + h @ rnn.weight_hh_l0.T + rnn.bias_hh_l0  # cause: unrolled_lstm
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        seen.append(h)
    return torch.stack(seen, dim=1)


class UnrollsLstm(Training):
    """Runs the recurrence cell by cell with grids that fill a fraction of the GPU."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        model.recur = functools.partial(recur, model.rnn)
        return model


class Compiles(Training):
    """Trains the model under torch.compile, in one graph."""

    def make_model(self) -> nn.Module:
        return torch.compile(super().make_model(), dynamic=False)

    def close(self) -> None:
        torch.compiler.reset()  # The next twin must not find this one's code.


# Not an attribute of the block: the compiler would guard on what is in the set, and
# compile anew whenever it grows.
SEEN: set[torch.Size] = set()


@torch.compiler.disable
def note(shape: torch.Size) -> None:
    """Keep the shapes seen; stands for any call the compiler cannot trace."""
    SEEN.add(shape)


class NotedBlock(nn.Module):
    """A block that tells ``note`` about its output."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        note(y.shape)  # cause: graph_break_per_block
        return y


def separate_code(model: nn.Module) -> None:
    """Give this one model a ``forward`` of its own, equal to its class's.

    The compiler keeps its verdicts by code object. It gives up on a ``forward`` whose
    loop holds a graph break, and would then run the other twin's uncompiled as well.
    """
    forward = type(model).forward
    copied = types.FunctionType(forward.__code__.replace(), forward.__globals__)
    model.forward = types.MethodType(copied, model)


class CompilesInPieces(Compiles):
    """Trains the same model with a call between blocks that breaks the graph."""

    def make_model(self) -> nn.Module:
        model = Training.make_model(self)
        for i, block in enumerate(model.blocks):
            model.blocks[i] = NotedBlock(block)
        separate_code(model)
        return torch.compile(model, dynamic=False)
