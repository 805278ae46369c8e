# SPDX-License-Identifier: BSD-3-Clause
"""device_twins/compiling.py: programs that torch.compile does not keep in one piece."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.strength import split
from benchmarks.lab.corpus.workloads.training import Training


class Compiles(Training):
    """Trains the model under torch.compile, in one graph."""

    backend = "inductor"  # Of all its kind; record.py compiles without making code.

    def make_model(self) -> nn.Module:
        return compiled(super().make_model())

    def close(self) -> None:
        torch.compiler.reset()  # The next twin must not find this one's code.


def compiled(model: nn.Module) -> nn.Module:
    """Compile a model for the shapes it meets."""
    return torch.compile(model, dynamic=False, backend=Compiles.backend)


# Not an attribute of the block: the compiler would guard on what is in the set, and
# recompile whenever it grows.
SEEN: set[torch.Size] = set()
LARGE = 1e6  # Beyond what any activation is, so that nothing is ever done about it.


@torch.compiler.disable
def note(shape: torch.Size) -> None:
    """Keep the shapes seen; represents any call the compiler cannot trace."""
    SEEN.add(shape)


class Wrapped(nn.Module):
    """A block with something behind it that breaks the graph."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block


class NotedBlock(Wrapped):
    """A block that tells ``note`` about its output."""

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        note(y.shape)  # cause: graph_break_per_block
        return y


class ReadBlock(Wrapped):
    """A block that reads a number of its output."""

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        largest = y.detach().amax().item()  # cause: graph_break_at_item
        if largest > LARGE:
            SEEN.add(y.shape)
        return y


class BranchingBlock(Wrapped):
    """A block after which a tensor decides where the program goes on."""

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        if (y.detach() > LARGE).any():  # cause: graph_break_at_branch
            y = y.clamp(max=LARGE)
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
    """Has a call between blocks that breaks the graph; its places are the blocks."""

    wrapper: Callable[[nn.Module], nn.Module] = NotedBlock

    def make_model(self) -> nn.Module:
        model = Training.make_model(self)
        for i in split(self.lab, range(len(model.blocks)))[0]:
            model.blocks[i] = type(self).wrapper(model.blocks[i])
        separate_code(model)
        return compiled(model)


class ReadsInGraph(CompilesInPieces):
    """Has a number read between blocks."""

    wrapper = ReadBlock


class BranchesInGraph(CompilesInPieces):
    """Has a branch on a tensor between blocks."""

    wrapper = BranchingBlock


class Warming(nn.Module):
    """A model whose outputs grow by a factor as it warms up, told what run it is in."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: list[Tensor], factor: float | Tensor, tag: str) -> Tensor:
        y = self.model(*inputs)
        if tag.startswith("frozen"):
            y = y.detach()
        return y * factor


class WarmsUp(Training):
    """Warms up, under torch.compile without a back end that makes code.

    That is what takes seconds a piece and hides what else a recompilation costs; the
    places of its slow forms are the steps. The limit from which the compiler gives up
    is lifted, as programs lift it that met it.
    """

    def make_model(self) -> nn.Module:
        model = Warming(super().make_model())
        return torch.compile(model, backend="aot_eager", dynamic=False)

    @contextlib.contextmanager
    def settings(self) -> Iterator[None]:
        lifted = {"recompile_limit": 10_000, "accumulated_recompile_limit": 10_000}
        with super().settings(), torch._dynamo.config.patch(**lifted):
            yield

    def forward(self, inputs: list[Tensor]) -> Tensor:
        factor = torch.full((), 1.0 / (1 + self.seldom()), device=self.device)
        return self.model(inputs, factor, "train")

    def seldom(self) -> int:
        """Count the steps that have a new value: the strength's share of all."""
        return int(self.taken * self.lab.strength)

    def close(self) -> None:
        torch.compiler.reset()


class WarmsUpByNumber(WarmsUp):
    """Hands the factor over as a number, which is compiled into the code."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        factor = 1.0 / (1 + self.seldom())
        return self.model(inputs, factor, "train")  # cause: recompiled_for_number


class WarmsUpByName(WarmsUp):
    """Hands over a name with the step in it, on which the code is guarded."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        factor = torch.full((), 1.0 / (1 + self.seldom()), device=self.device)
        tag = f"train {self.seldom()}"
        return self.model(inputs, factor, tag)  # cause: recompiled_for_name


class WarmsUpInHalves(WarmsUp):
    """Runs the batch in two halves."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        cut = self.cut(len(inputs[0]))
        first = super().forward([part[:cut] for part in inputs])
        return torch.cat([first, super().forward([part[cut:] for part in inputs])])

    def cut(self, samples: int) -> int:
        return samples // 2


class WarmsUpInParts(WarmsUpInHalves):
    """Cuts it elsewhere from time to time: each new shape is recompiled."""

    def cut(self, samples: int) -> int:
        return 1 + self.seldom() % (samples - 1)  # cause: recompiled_for_shape
