# SPDX-License-Identifier: BSD-3-Clause
"""families/named_graphs.py: networks on graphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.samples import class_losses, sources


def graph_of(config: Config) -> tuple[Tensor, Tensor, Tensor]:
    """Return how many neighbors each node has, where they begin, and all of them."""
    nodes, degree = config["nodes"], config["degree"]
    rng = torch.Generator().manual_seed(nodes)
    degrees = torch.randint(1, 2 * degree, (nodes,), generator=rng)
    ends = torch.randint(nodes, (int(degrees.sum()),), generator=rng)
    return degrees, degrees.cumsum(0) - degrees, ends


class Sage(nn.Module):
    """Classifies nodes by a sample of their neighbors and of those of these.

    ``draws`` are large numbers that say which neighbors; where they are drawn already,
    ``drawn`` is true, and they are the neighbors.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        degrees, starts, ends = graph_of(config)
        rng = torch.Generator().manual_seed(config["nodes"] + 1)
        features = torch.randn(config["nodes"], config["features"], generator=rng)
        self.register_buffer("degrees", degrees)
        self.register_buffer("starts", starts)
        self.register_buffer("ends", ends)
        self.register_buffer("features", features)
        self.drawn = False
        width = config["width"]
        self.first = nn.Linear(2 * config["features"], width)
        self.second = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, config["classes"])

    def neighbors(self, nodes: Tensor, draws: Tensor) -> Tensor:
        """Return for each node as many of its neighbors as there are draws."""
        nodes = nodes.unsqueeze(-1)
        return self.ends[self.starts[nodes] + draws % self.degrees[nodes]]

    def mixed(self, layer: nn.Linear, own: Tensor, around: Tensor) -> Tensor:
        return F.relu(layer(torch.cat([own, around.mean(-2)], dim=-1)))

    def forward(self, nodes: Tensor, draws1: Tensor, draws2: Tensor) -> Tensor:
        near = draws1 if self.drawn else self.neighbors(nodes, draws1)
        far = draws2 if self.drawn else self.neighbors(near, draws2)
        x = self.features
        own = self.mixed(self.first, x[nodes], x[near])
        around = self.mixed(self.first, x[near], x[far])
        return self.head(self.mixed(self.second, own, around))


class MaxK(nn.Module):
    """Classifies graphs of one form by the largest features of each node."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        nodes, edges, width = config["nodes"], config["edges"], config["width"]
        rng = torch.Generator().manual_seed(nodes)
        self.register_buffer("sources", torch.randint(nodes, (edges,), generator=rng))
        self.register_buffer("targets", torch.randint(nodes, (edges,), generator=rng))
        self.k = config["largest"]
        self.first = nn.Linear(config["features"], width)
        self.layers = nn.ModuleList(
            nn.Linear(width, width) for _ in range(config["depth"])
        )
        self.head = nn.Linear(width, config["classes"])

    def spread(self, x: Tensor) -> Tensor:
        """Send the largest features of each node along the edges, and nothing else."""
        batch, nodes, width = x.shape
        values, kept = x.topk(self.k, dim=2)
        places = self.targets.unsqueeze(1) * width + kept[:, self.sources]
        sums = x.new_zeros(batch, nodes * width)
        sent = values[:, self.sources].flatten(1)
        return sums.scatter_add(1, places.flatten(1), sent).view_as(x)

    def forward(self, features: Tensor) -> Tensor:
        x = self.first(features)
        for layer in self.layers:
            x = x + layer(self.spread(x)) / len(self.layers)
        return self.head(x.mean(1))


def _nodes(config: Config, rng: torch.Generator) -> Batch:
    batch, near, far = config["batch"], config["near"], config["far"]
    nodes = torch.randint(config["nodes"], (batch,), generator=rng)
    draws1 = torch.randint(1 << 20, (batch, near), generator=rng)
    draws2 = torch.randint(1 << 20, (batch, near, far), generator=rng)
    target = torch.randint(config["classes"], (batch,), generator=rng)
    return nodes, draws1, draws2, sources(config, rng), target


def _graphs(config: Config, rng: torch.Generator) -> Batch:
    batch = config["batch"]
    shape = (batch, config["nodes"], config["features"])
    features = torch.randn(shape, generator=rng)
    target = torch.randint(config["classes"], (batch,), generator=rng)
    return features, sources(config, rng), target


# fmt: off
FAMILIES = (
    Family("sage", {
        "cuda": dict(batch=1024, nodes=200_000, degree=16, near=10, far=10,
                     features=128, width=256, classes=47),
        "small": dict(batch=192, nodes=20_000, degree=16, near=10, far=8, features=32,
                      width=64, classes=16),
        "cpu": dict(batch=4, nodes=50, degree=4, near=3, far=2, features=4, width=8,
                    classes=4),
    }, Sage, _nodes, class_losses, "classification"),
    Family("maxk", {
        "cuda": dict(batch=8, nodes=4096, edges=65_536, features=64, width=256,
                     largest=16, depth=3, classes=10),
        "small": dict(batch=2, nodes=512, edges=8192, features=32, width=128,
                      largest=4, depth=2, classes=10),
        "cpu": dict(batch=2, nodes=16, edges=48, features=4, width=8, largest=2,
                    depth=2, classes=4),
    }, MaxK, _graphs, class_losses, "classification"),
)
# fmt: on
