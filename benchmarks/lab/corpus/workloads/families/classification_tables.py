# SPDX-License-Identifier: BSD-3-Clause
"""families/classification_tables.py: classifiers of tables and of graphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.samples import class_losses, sources


class Recommender(nn.Module):
    """Embedding tables and dense features into an MLP with several objectives."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, hidden = config["width"], config["hidden"]
        self.tables = nn.ModuleList(
            nn.Embedding(config["rows"], width) for _ in range(config["tables"])
        )
        self.dense = nn.Sequential(
            nn.Linear(config["features"], hidden), nn.ReLU(), nn.Linear(hidden, width)
        )
        self.top = nn.Sequential(
            nn.Linear((config["tables"] + 1) * width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, config["objectives"]),
        )

    def forward(self, features: Tensor, indices: Tensor) -> Tensor:
        columns = zip(self.tables, indices.unbind(1), strict=True)
        found = [table(column) for table, column in columns]
        return self.top(torch.cat([self.dense(features), *found], dim=1))


class GraphLayer(nn.Module):
    """Joins each node with the mean of its neighbors."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.own = nn.Linear(width, width)
        self.others = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, neighbors: Tensor) -> Tensor:
        batch, nodes, degree = neighbors.shape
        y = self.norm(x)
        rows = neighbors.flatten(1).unsqueeze(2).expand(-1, -1, y.shape[2])
        near = y.gather(1, rows).view(batch, nodes, degree, -1).mean(2)
        return x + F.relu(self.own(y) + self.others(near))


class GraphNet(nn.Module):
    """Classifies graphs of which each node has equally many neighbors."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.stem = nn.Linear(config["features"], width)
        self.layers = nn.ModuleList(GraphLayer(width) for _ in range(config["depth"]))
        self.head = nn.Linear(width, config["classes"])

    def forward(self, features: Tensor, neighbors: Tensor) -> Tensor:
        x = self.stem(features)
        for layer in self.layers:
            x = layer(x, neighbors)
        return self.head(x.mean(1))


def _visits(config: Config, rng: torch.Generator) -> Batch:
    batch = config["batch"]
    features = torch.randn(batch, config["features"], generator=rng)
    indices = torch.randint(config["rows"], (batch, config["tables"]), generator=rng)
    clicks = torch.randint(2, (batch, config["objectives"]), generator=rng)
    return features, indices, sources(config, rng), clicks.float()


def _graphs(config: Config, rng: torch.Generator) -> Batch:
    batch, nodes, degree = config["batch"], config["nodes"], config["degree"]
    features = torch.randn(batch, nodes, config["features"], generator=rng)
    neighbors = torch.randint(nodes, (batch, nodes, degree), generator=rng)
    target = torch.randint(config["classes"], (batch,), generator=rng)
    return features, neighbors, sources(config, rng), target


def _click_losses(outputs: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs, target, reduction="none").mean(1)


# fmt: off
FAMILIES: tuple[Family, ...] = (
    Family("recommender", {
        "cuda": dict(batch=2048, features=16, tables=8, rows=20_000, width=32,
                     hidden=512, objectives=8),
        "small": dict(batch=512, features=16, tables=24, rows=2_000, width=16,
                      hidden=384, objectives=8),
        "cpu": dict(batch=8, features=4, tables=2, rows=50, width=8, hidden=16,
                    objectives=4),
    }, Recommender, _visits, _click_losses, task="classification"),
    Family("graph", {
        "cuda": dict(batch=64, nodes=512, degree=8, features=32, width=256, depth=8,
                     classes=16),
        "small": dict(batch=4, nodes=128, degree=4, features=16, width=64, depth=8,
                      classes=16),
        "cpu": dict(batch=4, nodes=8, degree=2, features=4, width=8, depth=2,
                    classes=4),
    }, GraphNet, _graphs, class_losses, task="classification"),
)
# fmt: on
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name == "recommender")
