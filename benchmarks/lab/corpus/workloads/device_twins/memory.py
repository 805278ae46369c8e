# SPDX-License-Identifier: BSD-3-Clause
"""device_twins/memory.py: memory that is taken from the driver and given back."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.training import Training

ROOM = 512  # Steps.
PART = 1 << 18  # Numbers of a step, 1 MiB.


class EmptiesCache(Training):
    """Gives the allocator's memory back to the driver in every step."""

    def adjust(self) -> None:
        torch.cuda.empty_cache()  # cause: empty_cache_in_step


class EmptiesCacheOften(Training):
    """Gives it back before each part of the step; its places are the parts."""

    def give_back(self, part: int) -> None:
        if part < self.lab.share(4):
            torch.cuda.empty_cache()  # cause: empty_cache_in_parts

    def fetch(self) -> Batch:
        self.give_back(0)
        return super().fetch()

    def forward(self, inputs: list[Tensor]) -> Tensor:
        self.give_back(1)
        return super().forward(inputs)

    def backward(self, loss: Tensor) -> None:
        self.give_back(2)
        super().backward(loss)

    def update(self) -> None:
        self.give_back(3)
        super().update()


class KeepsInPlace(Training):
    """Keeps a part of each step's gradients in room for ROOM steps made beforehand.

    Runs no further than that: an IndexError ends it.
    """

    def make_model(self) -> nn.Module:
        model = super().make_model()
        count = sum(p.numel() for p in model.parameters())
        rows = self.rows()
        self.past = torch.zeros(rows, min(count, PART), device=self.device)
        self.seen = 0
        return model

    def rows(self) -> int:
        return ROOM

    def adjust(self) -> None:
        gradients = [p.grad.flatten() for p in self.model.parameters()]
        self.keep(torch.cat(gradients)[: self.past.shape[1]])
        self.seen += 1
        first = next(iter(self.model.parameters())).grad
        reference = self.past[self.seen // 2][: first.numel()]
        first.view(-1)[: len(reference)].lerp_(reference, 0.1)

    def keep(self, part: Tensor) -> None:
        self.past[self.seen].copy_(part)


class GrowsHistory(KeepsInPlace):
    """Puts each step's behind the former ones, into new and larger memory each time."""

    def rows(self) -> int:
        return 0

    def keep(self, part: Tensor) -> None:
        self.past = torch.cat([self.past, part[None]])  # cause: history_that_grows
