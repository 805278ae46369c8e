# SPDX-License-Identifier: BSD-3-Clause
"""case.py: what a simulated program is, but for its faults."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.lab.blame.families import Family
from benchmarks.lab.blame.gpus import Gpu


@dataclass(frozen=True)
class Case:
    """A program to be."""

    family: Family
    gpu: Gpu
    seed: int
    steps: int
    scale: float  #: Of the batch.
    stack: bool
    compiled: bool = False
    loader: bool = False
    varying: bool = False  #: Batches differ in size, so no two steps are alike.
    #: Time of a step's kernels without faults, and of its host: what faults scale with.
    device_us: float = 0.0
    host_us: float = 0.0
    first: int = 3  #: The number of the first step.

    @property
    def step_us(self) -> float:
        """About how long a step takes."""
        return max(self.device_us, self.host_us)
