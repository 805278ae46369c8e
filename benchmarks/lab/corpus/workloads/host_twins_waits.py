# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_waits.py: more twins that wait for values of the device.

For the comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.families import SOURCES
from benchmarks.lab.corpus.workloads.training import Lab, Training


class KeepsLosses(Training):
    """Keeps the losses of the last steps where they are, for a log written later."""

    kept = 16

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.log: list[Tensor | str | list[float]] = []
        self.means: list[Tensor | float] = [0.0] * SOURCES

    def finish(self, losses: Tensor) -> Tensor:
        self.note(losses.detach())
        del self.log[: -self.kept]
        return losses.detach()

    def note(self, losses: Tensor) -> None:
        """Write down what the log will need."""
        self.log.append(losses)


class PrintsLosses(KeepsLosses):
    """Writes the mean loss into a line of text; its places are the steps."""

    def note(self, losses: Tensor) -> None:
        if not self.lab.takes(self.taken - 1):
            return super().note(losses)
        mean = losses.mean()
        line = f"step {self.taken}: {mean:.4f}"  # cause: loss_printed
        self.log.append(line)


class FetchesLosses(KeepsLosses):
    """Copies the losses to the host part by part; its places are the parts."""

    def note(self, losses: Tensor) -> None:
        for i, part in enumerate(losses.chunk(SOURCES)):
            if self.lab.takes(i):
                part = part.cpu()  # cause: losses_to_cpu
            self.log.append(part)


class AveragesLater(KeepsLosses):
    """Keeps a running mean of the losses, each part's by itself, on the device."""

    def note(self, losses: Tensor) -> None:
        for i, part in enumerate(losses.chunk(SOURCES)):
            self.means[i] = 0.9 * self.means[i] + 0.1 * part.mean()


class AveragesNow(KeepsLosses):
    """Keeps the same means as numbers of Python; its places are the parts."""

    def note(self, losses: Tensor) -> None:
        for i, part in enumerate(losses.chunk(SOURCES)):
            mean: Tensor | float = part.mean()
            if self.lab.takes(i):
                mean = float(mean)  # cause: running_mean
            self.means[i] = 0.9 * self.means[i] + 0.1 * mean


class BranchesOnFinite(Training):
    """Asks of each gradient whether it is finite, and drops it if not.

    Its places are the parameters.
    """

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            finite = torch.isfinite(p.grad).all()
            if not self.lab.takes(i):
                p.grad.masked_fill_(~finite, 0.0)
                continue
            if not finite:  # cause: branch_on_tensor
                p.grad.zero_()


class MasksFinite(Training):
    """Drops the same gradients by a mask."""

    def adjust(self) -> None:
        for p in self.model.parameters():
            finite = torch.isfinite(p.grad).all()
            p.grad.masked_fill_(~finite, 0.0)


class DecaysLargest(Training):
    """Decays parameters by how large their large values are, summed by a mask."""

    above = 0.05

    def large(self, place: int, p: Tensor, hit: Tensor) -> Tensor:
        """Return the sum of squares of what is hit."""
        return (p.square() * hit).sum()

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            weight = p.detach()
            squares = self.large(i, weight, weight.abs() > self.above)
            p.grad.addcmul_(weight, squares / p.numel(), value=1e-2)


class PicksLargest(DecaysLargest):
    """Picks the large values out first; its places are the parameters."""

    def large(self, place: int, p: Tensor, hit: Tensor) -> Tensor:
        if not self.lab.takes(place):
            return super().large(place, p, hit)
        picked = p[hit]  # cause: boolean_mask
        return picked.square().sum()


class WeighsByRank(Training):
    """Weighs the samples of each part by their rank, worked out on the device."""

    def ranks(self, place: int, losses: Tensor) -> Tensor:
        """Return 0 for the smallest loss, 1 for the next, and so on."""
        return losses.argsort(stable=True).argsort()

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        parts = []
        for i, part in enumerate(losses.chunk(SOURCES)):
            ranks = self.ranks(i, part.detach())
            parts.append((part * (1.0 + ranks) / len(part)).mean())
        return torch.stack(parts).mean()


class SortsOnHost(WeighsByRank):
    """Works the ranks out in Python; its places are the parts."""

    def ranks(self, place: int, losses: Tensor) -> Tensor:
        if not self.lab.takes(place):
            return super().ranks(place, losses)
        values = losses.tolist()  # cause: ranks_from_list
        order = sorted(range(len(values)), key=values.__getitem__)
        ranks = [0] * len(values)
        for rank, i in enumerate(order):
            ranks[i] = rank
        return torch.tensor(ranks).to(self.device, non_blocking=True)


class TimesHooks(Training):
    """Waits for the device after each part of a step, as if to take the time.

    Its places are the parts: forward, backward, update.
    """

    def wait(self, place: int) -> None:
        if self.lab.takes(place):
            torch.cuda.synchronize()  # cause: synchronize_to_time

    def refine(self, outputs: Tensor) -> Tensor:
        self.wait(0)
        return outputs

    def adjust(self) -> None:
        self.wait(1)

    def finish(self, losses: Tensor) -> Tensor:
        self.wait(2)
        return losses.detach()
