# SPDX-License-Identifier: BSD-3-Clause
"""named/graphs.py: twins that train networks on graphs."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.lab.corpus.workloads.families import Batch, Config
from benchmarks.lab.corpus.workloads.families.named_graphs import graph_of
from benchmarks.lab.corpus.workloads.training import BATCHES, Training

WORKERS = 2
STEPS = 1_000_000  # More than any run has.


class HostGraph:
    """A graph as lists, as programs keep it that sample on the host."""

    def __init__(self, config: Config) -> None:
        degrees, starts, ends = (part.tolist() for part in graph_of(config))
        spans = zip(starts, degrees, strict=True)
        self.near = [ends[start : start + degree] for start, degree in spans]

    def draw(self, nodes: Tensor, draws: Tensor) -> Tensor:
        """Return what ``Sage.neighbors`` does, node by node."""
        drawn = []
        rows = zip(nodes.flatten().tolist(), draws.flatten(0, -2).tolist(), strict=True)
        for node, numbers in rows:
            near = self.near[node]
            drawn.append([near[number % len(near)] for number in numbers])
        return torch.tensor(drawn).view_as(draws)


class SamplesOnHost(Training):
    """Samples neighbors in Python before each step; its places are the steps."""

    def hold(self, batches: list[Batch]) -> list[Batch]:
        self.graph = HostGraph(self.lab.config)
        self.near = [tuple(p.to(self.device) for p in batch) for batch in batches]
        return batches

    def fetch(self) -> Batch:
        nodes, draws1, draws2, *rest = super().fetch()
        self.model.drawn = self.taken % 10 < self.lab.share(10)
        if not self.model.drawn:
            return self.near[self.taken % BATCHES]
        near = self.graph.draw(nodes, draws1)
        far = self.graph.draw(near, draws2)  # cause: neighbors_in_python
        return tuple(part.to(self.device) for part in (nodes, near, far, *rest))


class SampledBatches(Dataset[Batch]):
    """The batches of a run with their neighbors sampled."""

    def __init__(self, graph: HostGraph, batches: list[Batch]) -> None:
        self.graph, self.batches = graph, batches

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> Batch:
        nodes, draws1, draws2, *rest = self.batches[index % len(self.batches)]
        near = self.graph.draw(nodes, draws1)
        return nodes, near, self.graph.draw(near, draws2), *rest


class SamplesInStep(Training):
    """Has a loader without workers sample neighbors between two steps."""

    workers = 0

    def hold(self, batches: list[Batch]) -> list[Batch]:
        self.model.drawn = True
        loader = DataLoader(
            SampledBatches(HostGraph(self.lab.config), batches),
            batch_size=None,
            num_workers=self.workers,
            pin_memory=self.device.type == "cuda",
            persistent_workers=self.workers > 0,
        )
        self.loaded: Iterator[list[Tensor]] = iter(loader)
        return []

    def fetch(self) -> Batch:
        batch = next(self.loaded)  # cause: neighbors_not_prefetched
        return tuple(part.to(self.device, non_blocking=True) for part in batch)

    def close(self) -> None:
        del self.loaded  # Ends the worker processes.


class SamplesAhead(SamplesInStep):
    """Has worker processes sample them, batches ahead of the step."""

    workers = WORKERS
