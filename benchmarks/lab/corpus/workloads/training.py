# SPDX-License-Identifier: BSD-3-Clause
"""training.py: one training run, the fixed form of everything.

A twin is a subclass of ``Training`` that replaces one hook, so a pair differs in one
place and nowhere else. Twins give their hooks the same names, because the profiler
writes function names into the trace and a name must not tell which twin it was.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families import Batch, Config, Family

BATCHES = 4
"""Distinct batches a run cycles through: enough that no step repeats the last."""


HOOKS = (
    "fetch", "clear", "forward", "refine", "score", "reduce", "backward", "adjust",
    "update", "finish",
)  # fmt: skip
"""What a step calls, in this order."""


def takes(place: int, share: float) -> bool:
    """Tell whether a place, counted from 0, is among a share of all places.

    They are spread evenly, the first among them: of n places, ``share * n`` rounded up.
    """
    before, after = round(place * share, 9), round((place + 1) * share, 9)
    return math.ceil(after) > math.ceil(before)


@dataclass(frozen=True)
class Lab:
    """Where a twin is built: the device, the family, its scale and the seed.

    ``strength``, above 0 and at most 1, is the share of the places in which a slow
    twin takes its slow way; the twin defines its places. A fixed twin has no places.
    """

    device: torch.device
    family: Family
    scale: str
    seed: int
    strength: float = 1.0

    @property
    def config(self) -> Config:
        return self.family.configs[self.scale]

    def takes(self, place: int) -> bool:
        """Tell whether a slow twin is slow at a place, counted from 0."""
        return takes(place, self.strength)

    def share(self, places: int) -> int:
        """Return at how many of the first ``places`` a slow twin is slow."""
        return math.ceil(round(places * self.strength, 9))

    def batches(self) -> list[Batch]:
        """Draw ``BATCHES`` batches in host memory, the same for the same seed."""
        rng = torch.Generator().manual_seed(self.seed)
        return [self.family.batch(self.config, rng) for _ in range(BATCHES)]


@contextlib.contextmanager
def tf32(allowed: bool) -> Iterator[None]:
    """Allow or forbid TensorFloat-32 in matrix products and convolutions.

    Uses the older switches: torch 2.9 to 2.11 fail inside torch.compile once
    ``fp32_precision`` was set, and the older ones work in every version.
    """
    matmul = torch.get_float32_matmul_precision()
    cudnn = torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    torch.backends.cudnn.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = cudnn


class Training:
    """A model, its optimizer and batches that already are on the device.

    Two runs with equal ``lab`` start from equal parameters and see equal batches.
    ``close`` must be called; a run is not used after it.
    """

    allow_tf32 = True  # What a tuned program would do; one pair forbids it.

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.device = lab.device
        self.taken = 0
        torch.manual_seed(lab.seed)
        self.model = self.make_model()
        self.optimizer = self.make_optimizer()
        self.batches = self.hold(lab.batches())

    def settings(self) -> contextlib.AbstractContextManager[None]:
        """Give the global switches this run needs while it steps."""
        if self.device.type != "cuda":
            return contextlib.nullcontext()
        return tf32(self.allow_tf32)

    def step(self) -> Tensor:
        """Train on one batch; returns each sample's loss, without a wait for it.

        Calls the HOOKS and nothing else that takes time, so that their times show
        where a step's time went. A program that does not train stops at the losses.
        """
        batch = self.fetch()
        self.clear()
        *inputs, source, target = batch
        outputs = self.refine(self.forward(inputs))
        losses = self.score(outputs, target)
        if self.lab.family.trains:
            self.backward(self.reduce(losses, source))
            self.adjust()
            self.update()
        return self.finish(losses)

    def close(self) -> None:
        """Release what garbage collection would not: processes, compiled code."""

    # The hooks, in the order in which they run.

    def make_model(self) -> nn.Module:
        return self.lab.family.model(self.lab.config).to(self.device)

    def make_optimizer(self) -> torch.optim.Optimizer:
        parameters = self.model.parameters()
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=True)

    def hold(self, batches: list[Batch]) -> list[Batch]:
        """Put the batches where ``fetch`` finds them."""
        return [tuple(part.to(self.device) for part in batch) for batch in batches]

    def fetch(self) -> Batch:
        self.taken += 1
        return self.batches[self.taken % BATCHES]

    def clear(self) -> None:
        self.model.zero_grad(set_to_none=True)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        with torch.set_grad_enabled(self.lab.family.trains):
            return self.model(*inputs)

    def refine(self, outputs: Tensor) -> Tensor:
        return outputs

    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        return self.lab.family.losses(outputs, target)

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        return losses.mean()

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def adjust(self) -> None:
        """Change the gradients before the optimizer sees them."""

    def update(self) -> None:
        self.optimizer.step()  # cause: single_tensor_optimizer

    def finish(self, losses: Tensor) -> Tensor:
        """Do what a program does at the end of a step, such as writing its loss."""
        return losses.detach()
