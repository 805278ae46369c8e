# SPDX-License-Identifier: BSD-3-Clause
"""named/numbers.py: twins about linear systems and whole numbers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.named_numbers import (
    GAIN,
    LARGEST,
    UNIT,
    WEIGHT_UNIT,
)
from benchmarks.lab.corpus.workloads.training import Training

DAMPING = 1e-2


class SolvesTogether(Training):
    """Takes Newton's step for all tasks, solved in one call."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        self.x = inputs[0]
        outputs = super().forward(inputs)
        self.chances = outputs.detach().sigmoid()
        return outputs

    def adjust(self) -> None:
        weights = self.model.weights
        curvature = self.chances * (1 - self.chances) / self.chances.numel()
        systems = torch.einsum("btf,bt,btg->tfg", self.x, curvature, self.x)
        damping = DAMPING * torch.eye(weights.shape[1], device=self.device)
        weights.grad = self.solve(systems + damping, weights.grad)

    def solve(self, systems: Tensor, sides: Tensor) -> Tensor:
        solved, _ = torch.linalg.solve_ex(systems, sides.unsqueeze(2))
        return solved.squeeze(2)


class SolvesOneByOne(SolvesTogether):
    """Solves system after system; its places are the systems."""

    def solve(self, systems: Tensor, sides: Tensor) -> Tensor:
        alone = self.lab.share(len(systems))
        solved = []
        for i in range(alone):
            solved.append(
                torch.linalg.solve(systems[i], sides[i])
            )  # cause: newton_loop
        rest = super().solve(systems[alone:], sides[alone:])
        return torch.cat([torch.stack(solved), rest])


class SolvesOnHost(SolvesTogether):
    """Copies system after system to the host and the solution back."""

    def solve(self, systems: Tensor, sides: Tensor) -> Tensor:
        alone = self.lab.share(len(systems))
        solved = []
        for i in range(alone):
            system, side = systems[i].cpu(), sides[i].cpu()  # cause: newton_on_host
            solved.append(torch.linalg.solve(system, side).to(self.device))
        rest = super().solve(systems[alone:], sides[alone:])
        return torch.cat([torch.stack(solved), rest])


def layer_in_float(x: Tensor, weight: Tensor) -> Tensor:
    """Do a layer of whole numbers in float32, there and back."""
    real = (x.float() * UNIT) @ (weight.float() * WEIGHT_UNIT)  # cause: int8_by_float
    scaled = real * (GAIN / (UNIT * WEIGHT_UNIT))
    return scaled.round().clamp(0, LARGEST).to(torch.int8)


class DequantizesLayers(Training):
    """Takes each layer to floating point and back; its places are the layers."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        whole = model.layer
        slow = self.lab.share(len(model.weights))
        self.seen = 0

        def layer(x: Tensor, weight: Tensor) -> Tensor:
            self.seen += 1
            in_float = (self.seen - 1) % len(model.weights) < slow
            return layer_in_float(x, weight) if in_float else whole(x, weight)

        model.layer = layer
        return model
