# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/workloads/families.py: the model families the pairs are built on.

Small definitions of our own, so that recording needs neither torchvision nor a
download. No model mixes samples (group and layer norms, no batch norm) and none
draws random numbers while it runs: a sample's loss is then the same whether it is
computed alone or in a batch, which is what lets twins be compared at all.

A batch is a flat tuple ``(*inputs, source, target)``. ``source`` says which of
``SOURCES`` data sets a sample came from; losses may be averaged by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Config = Mapping[str, int]
Batch = tuple[Tensor, ...]
SOURCES = 8
TASKS = (
    "classification", "detection", "segmentation", "generation", "depth", "pose",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """One model family: how to build it, feed it and score each sample.

    ``configs`` holds one configuration a scale: ``"cuda"`` is sized so that one
    training step on a data-centre GPU takes milliseconds and the host is neither
    far ahead nor far behind; ``"cpu"`` only has to run in a test. ``task`` is one of
    ``TASKS``; what does not train is a forward pass alone.
    """

    name: str
    configs: Mapping[str, Config]
    model: Callable[[Config], nn.Module]
    batch: Callable[[Config, torch.Generator], Batch]
    losses: Callable[[Tensor, Tensor], Tensor]
    task: str = "generation"
    trains: bool = True


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with group norm; the first may halve the image."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        # No bias before a norm: its gradient is rounding noise, which Adam would
        # blow up to full steps that no two runs share.
        self.first = nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(4, outside)
        self.second = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(4, outside)
        same = stride == 1 and inside == outside
        self.skip = (
            nn.Identity() if same else nn.Conv2d(inside, outside, 1, stride, bias=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(y)) + self.skip(x))


class ConvNet(nn.Module):
    """A small residual image classifier."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, depth = config["width"], config["stages"], config["depth"]
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        blocks: list[nn.Module] = []
        inside = width
        for stage in range(stages):
            for i in range(depth):
                halves = stage > 0 and i == 0
                outside = width << stage
                blocks.append(ResidualBlock(inside, outside, 2 if halves else 1))
                inside = outside
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(inside, config["classes"])

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


class AttentionBlock(nn.Module):
    """Pre-norm causal attention and a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A decoder-only language model."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.tokens = nn.Embedding(config["vocabulary"], width)
        self.places = nn.Parameter(torch.randn(config["length"], width) * 0.02)
        self.blocks = nn.ModuleList(
            AttentionBlock(width, config["heads"]) for _ in range(config["depth"])
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config["vocabulary"], bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


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


class CharLstm(nn.Module):
    """A recurrent character model; ``recur`` is a method so that it can be replaced."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config["vocabulary"], config["width"])
        self.rnn = nn.LSTM(config["width"], config["width"], batch_first=True)
        self.head = nn.Linear(config["width"], config["vocabulary"])

    def recur(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.recur(self.tokens(tokens)))


def _sources(config: Config, rng: torch.Generator) -> Tensor:
    return torch.randint(SOURCES, (config["batch"],), generator=rng)


def _images(config: Config, rng: torch.Generator) -> Batch:
    batch, side = config["batch"], config["side"]
    # Few grey levels, as in a photograph, so that packed images take time to unpack.
    pixels = torch.randint(64, (batch, 3, side, side), generator=rng)
    target = torch.randint(config["classes"], (batch,), generator=rng)
    return pixels / 64 - 0.5, _sources(config, rng), target


def _sentences(config: Config, rng: torch.Generator) -> Batch:
    shape = (config["batch"], config["length"] + 1)
    text = torch.randint(config["vocabulary"], shape, generator=rng)
    tokens, target = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    return tokens, _sources(config, rng), target


def _visits(config: Config, rng: torch.Generator) -> Batch:
    batch = config["batch"]
    features = torch.randn(batch, config["features"], generator=rng)
    indices = torch.randint(config["rows"], (batch, config["tables"]), generator=rng)
    clicks = torch.randint(2, (batch, config["objectives"]), generator=rng)
    return features, indices, _sources(config, rng), clicks.float()


def _class_losses(outputs: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(outputs, target, reduction="none")


def _token_losses(outputs: Tensor, target: Tensor) -> Tensor:
    tokens = F.cross_entropy(outputs.flatten(0, 1), target.flatten(), reduction="none")
    return tokens.view_as(target).mean(1)


def _click_losses(outputs: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs, target, reduction="none").mean(1)


# fmt: off
FAMILIES: dict[str, Family] = {family.name: family for family in (
    Family("cnn", {
        "cuda": dict(batch=128, side=64, width=32, stages=3, depth=3, classes=100),
        "cpu": dict(batch=4, side=12, width=8, stages=2, depth=1, classes=10),
    }, ConvNet, _images, _class_losses),
    Family("transformer", {
        "cuda": dict(batch=32, length=256, width=512, heads=8, depth=6,
                     vocabulary=4096),
        "cpu": dict(batch=4, length=8, width=16, heads=2, depth=2, vocabulary=64),
    }, Transformer, _sentences, _token_losses),
    Family("recommender", {
        "cuda": dict(batch=2048, features=16, tables=8, rows=20_000, width=32,
                     hidden=512, objectives=8),
        "cpu": dict(batch=8, features=4, tables=2, rows=50, width=8, hidden=16,
                    objectives=4),
    }, Recommender, _visits, _click_losses),
    Family("lstm", {
        "cuda": dict(batch=16, length=48, width=128, vocabulary=128),
        "cpu": dict(batch=2, length=6, width=8, vocabulary=16),
    }, CharLstm, _sentences, _token_losses),
)}
# fmt: on
