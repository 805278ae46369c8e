# SPDX-License-Identifier: BSD-3-Clause
"""named/gradients.py: Z-scores of gradients (ZNorm), by tensor and in one pass.

Biases and the weights of norms are left alone, as the gradient of some of them is
rounding noise. The places of the twins are the weights that are left.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.strength import split
from benchmarks.lab.corpus.workloads.training import Training

EPSILON = 1e-8
CHUNK = 1024
"""Numbers in a row of the room that gradients are put in."""


class Room:
    """Room for gradients of all sizes, in rows of CHUNK numbers; the rest are zeros."""

    def __init__(self, weights: list[Tensor]) -> None:
        self.weights = weights
        self.rows = [-(-p.numel() // CHUNK) for p in weights]
        device = weights[0].device
        self.numbers = torch.zeros(sum(self.rows), CHUNK, device=device)
        counts = torch.tensor([p.numel() for p in weights], dtype=torch.float)
        owners = torch.repeat_interleave(torch.tensor(self.rows))
        self.counts, self.owners = counts.to(device), owners.to(device)

    def parts(self, numbers: Tensor) -> list[Tensor]:
        """Return each weight's numbers, as views."""
        rows = numbers.split(self.rows)
        return [
            row.view(-1)[: p.numel()].view_as(p)
            for row, p in zip(rows, self.weights, strict=True)
        ]

    def sums(self, numbers: Tensor) -> Tensor:
        """Add up each weight's numbers."""
        return torch.zeros_like(self.counts).index_add_(0, self.owners, numbers.sum(1))

    def score(self) -> None:
        """Replace all gradients by their Z-scores, in a dozen calls."""
        torch._foreach_copy_(self.parts(self.numbers), [p.grad for p in self.weights])
        means = self.sums(self.numbers) / self.counts
        squares = self.sums(self.numbers.square()) / self.counts
        deviations = (squares - means.square()).clamp(min=0.0).sqrt() + EPSILON
        centered = self.numbers - means[self.owners].unsqueeze(1)
        scores = centered / deviations[self.owners].unsqueeze(1)
        for p, part in zip(self.weights, self.parts(scores), strict=True):
            p.grad = part


class ScoresTogether(Training):
    """Takes the Z-scores of all gradients in one pass."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        weights = [p for p in model.parameters() if p.dim() > 1]
        self.alone, rest = self.divided(weights)
        self.room = Room(rest) if rest else None
        return model

    def divided(self, weights: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        return [], weights

    def adjust(self) -> None:
        if self.room:
            self.room.score()


class ScoresOneByOne(ScoresTogether):
    """Takes them weight by weight, with half a dozen kernels for each."""

    def divided(self, weights: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        return split(self.lab, weights)

    def adjust(self) -> None:
        super().adjust()
        for p in self.alone:
            mean, deviation = p.grad.mean(), p.grad.std(correction=0)
            p.grad = (p.grad - mean) / (deviation + EPSILON)  # cause: znorm_by_tensor


class ScoresByNumbers(ScoresOneByOne):
    """Reads the mean and the deviation of each as numbers."""

    def adjust(self) -> None:
        ScoresTogether.adjust(self)
        for p in self.alone:
            mean = p.grad.mean().item()  # cause: znorm_reads
            deviation = p.grad.std(correction=0).item()  # cause: znorm_reads
            p.grad = (p.grad - mean) / (deviation + EPSILON)
