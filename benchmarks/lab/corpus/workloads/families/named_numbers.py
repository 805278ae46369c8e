# SPDX-License-Identifier: BSD-3-Clause
"""families/named_numbers.py: many small regressions, and layers of whole numbers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.samples import class_losses, sources

UNIT = 2.0**-6  # Of activations; a power of two, so that scaling rounds nothing.
WEIGHT_UNIT = 2.0**-7
GAIN = 2.0**-11  # Of a sum of products of activations and weights to an activation.
LARGEST = 127


class ManyTasks(nn.Module):
    """Logistic regressions, each with features of its own."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        shape = (config["tasks"], config["features"])
        self.weights = nn.Parameter(0.1 * torch.randn(shape))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("btf,tf->bt", x, self.weights)


class WholeNumbers(nn.Module):
    """Layers of 8-bit whole numbers, then one of floating point.

    ``layer`` takes and returns int8 and can be replaced. Scales are powers of two and
    sums stay below 2^24, so that products in float32 are exact as well.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, depth = config["width"], config["depth"]
        rng = torch.Generator().manual_seed(width)
        weights = torch.randint(-127, 128, (depth, width, width), generator=rng)
        self.register_buffer("weights", weights.to(torch.int8))
        self.head = nn.Linear(width, config["classes"])

    def layer(self, x: Tensor, weight: Tensor) -> Tensor:
        sums = torch._int_mm(x, weight)
        return (sums * GAIN).round().clamp(0, LARGEST).to(torch.int8)

    def forward(self, x: Tensor) -> Tensor:
        for weight in self.weights.unbind(0):
            x = self.layer(x, weight)
        return self.head(x.float() * UNIT)


def _visits(config: Config, rng: torch.Generator) -> Batch:
    batch, tasks = config["batch"], config["tasks"]
    x = torch.randn(batch, tasks, config["features"], generator=rng)
    target = torch.randint(2, (batch, tasks), generator=rng)
    return x, sources(config, rng), target.float()


def _numbers(config: Config, rng: torch.Generator) -> Batch:
    shape = (config["batch"], config["width"])
    x = torch.randint(-127, 128, shape, generator=rng).to(torch.int8)
    target = torch.randint(config["classes"], (config["batch"],), generator=rng)
    return x, sources(config, rng), target


def _task_losses(outputs: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs, target, reduction="none").mean(1)


# fmt: off
FAMILIES = (
    Family("many_tasks", {
        "cuda": dict(batch=256, tasks=256, features=64),
        "small": dict(batch=64, tasks=96, features=24),
        "cpu": dict(batch=8, tasks=4, features=3),
    }, ManyTasks, _visits, _task_losses, "classification"),
    Family("int8_layers", {
        "cuda": dict(batch=512, width=1024, depth=12, classes=100),
        "small": dict(batch=64, width=512, depth=8, classes=10),
        "cpu": dict(batch=32, width=32, depth=3, classes=4),
    }, WholeNumbers, _numbers, class_losses, "classification", trains=False),
)
# fmt: on
