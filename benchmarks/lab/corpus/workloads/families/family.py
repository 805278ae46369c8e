# SPDX-License-Identifier: BSD-3-Clause
"""families/family.py: what a model family is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Config = Mapping[str, int]
Batch = tuple[Tensor, ...]
SOURCES = 8
TASKS = (
    "classification", "detection", "segmentation", "generation", "depth", "pose",
)  # fmt: skip
SCALES = ("cuda", "small", "cpu")


@dataclass(frozen=True)
class Family:
    """One model family: how to build it, feed it and score each sample.

    ``configs`` holds one configuration a scale: ``"cuda"`` is sized so that one
    training step on a data-centre GPU takes milliseconds and the host is neither
    far ahead nor far behind; ``"small"`` takes some 20 to 100 ms a step on one core of
    a CPU, for recordings there; ``"cpu"`` only has to run in a test. ``task`` is one of
    ``TASKS``; a family that does not train is a forward pass alone.

    ``model`` takes the inputs of a batch and returns one tensor, samples first and of
    two dimensions or more; ``losses`` makes of it and the target one loss a sample.
    """

    name: str
    configs: Mapping[str, Config]
    model: Callable[[Config], nn.Module]
    batch: Callable[[Config, torch.Generator], Batch]
    losses: Callable[[Tensor, Tensor], Tensor]
    task: str = "generation"
    trains: bool = True

    def inference(self) -> Family:
        """Return the form that runs the forward pass alone, ``NAME_inference``."""
        name = f"{self.name}_inference"
        return dataclasses.replace(self, name=name, trains=False)
