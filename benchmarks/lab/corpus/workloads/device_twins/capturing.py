# SPDX-License-Identifier: BSD-3-Clause
"""device_twins/capturing.py: the same kernels in every step, launched or replayed."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.training import Lab, Training

WARM_UP = 3  # Steps before a capture, which make all state and choose all algorithms.


class LaunchesEach(Training):
    """Copies each batch to where the last one was, and launches every kernel again."""

    def hold(self, batches: list[Batch]) -> list[Batch]:
        held = super().hold(batches)
        self.place = tuple(part.clone() for part in held[0])
        return held

    def fetch(self) -> Batch:
        for place, part in zip(self.place, super().fetch(), strict=True):
            place.copy_(part)
        return self.place

    def update(self) -> None:
        self.optimizer.step()  # cause: step_launched_anew


class ReplaysGraph(LaunchesEach):
    """Captures a step as a CUDA graph, then launches that."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.capturing = False

    def fetch(self) -> Batch:
        return self.place if self.capturing else super().fetch()

    def step(self) -> Tensor:
        if self.taken < WARM_UP:
            # On a stream of its own, as capturing asks for: what it makes of memory
            # must not be tied to the default stream.
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                losses = super().step()
            torch.cuda.current_stream().wait_stream(stream)
            return losses
        super().fetch()
        if self.graph is None:
            self.capture()
        self.graph.replay()
        return self.losses.clone()

    def capture(self) -> None:
        """Capture all of a step but the batch's copy; nothing of it runs."""
        self.graph = torch.cuda.CUDAGraph()
        self.capturing = True
        with torch.cuda.graph(self.graph):
            self.losses = super().step()
        self.capturing = False
