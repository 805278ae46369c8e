# SPDX-License-Identifier: BSD-3-Clause
"""families/detection.py: detectors of one stage, of two, and of queries."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families import boxes
from benchmarks.lab.corpus.workloads.families.family import Config, Family
from benchmarks.lab.corpus.workloads.families.layers import (
    AttentionBlock,
    ConvNorm,
    Pyramid,
    resized,
)
from benchmarks.lab.corpus.workloads.families.samples import boxed_images

STRIDE = 2  # Of the pyramid's first stage.


def _rows(images: Tensor) -> Tensor:
    """Return (batch, channels, y, x) as (batch, y * x, channels)."""
    return images.flatten(2).transpose(1, 2)


class Fcos(nn.Module):
    """A feature pyramid; one tower of convolutions looks at every level of it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, side = config["width"], config["stages"], config["side"]
        self.pyramid = Pyramid(width, stages, config["depth"], STRIDE)
        self.across = nn.ModuleList(
            nn.Conv2d(width << i, width, 1) for i in range(stages)
        )
        self.tower = nn.Sequential(ConvNorm(width, width), ConvNorm(width, width))
        self.head = nn.Conv2d(width, config["classes"] + 5, 3, padding=1)
        anchors = [boxes.grid((side // STRIDE) >> i) for i in range(stages)]
        self.register_buffer("anchors", torch.cat(anchors))

    def forward(self, images: Tensor) -> Tensor:
        found, above = [], None
        levels = list(zip(self.pyramid(images), self.across, strict=True))
        for level, across in reversed(levels):
            x = across(level)
            above = x if above is None else x + resized(above, x)
            found.insert(0, _rows(self.head(self.tower(above))))
        return boxes.with_boxes(torch.cat(found, dim=1), self.anchors)


class Ssd(nn.Module):
    """A head of its own for each level, with two anchors a place."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, side = config["width"], config["stages"], config["side"]
        self.pyramid = Pyramid(width, stages, config["depth"], STRIDE)
        self.each = config["classes"] + 5
        self.heads = nn.ModuleList(
            nn.Conv2d(width << i, self.each * len(boxes.SIZES), 3, padding=1)
            for i in range(stages)
        )
        anchors = [
            boxes.grid((side // STRIDE) >> i, boxes.SIZES) for i in range(stages)
        ]
        self.register_buffer("anchors", torch.cat(anchors))

    def forward(self, images: Tensor) -> Tensor:
        found = []
        for level, head in zip(self.pyramid(images), self.heads, strict=True):
            found.append(_rows(head(level)).reshape(len(images), -1, self.each))
        return boxes.with_boxes(torch.cat(found, dim=1), self.anchors)


class Detr(nn.Module):
    """An encoder over the image's last level, a decoder over learned queries."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        stages, wide, heads = config["stages"], config["hidden"], config["heads"]
        self.pyramid = Pyramid(config["width"], stages, config["depth"], STRIDE)
        self.narrow = nn.Conv2d(config["width"] << (stages - 1), wide, 1)
        rows = (config["side"] // STRIDE) >> (stages - 1)
        self.places = nn.Parameter(torch.randn(rows**2, wide) * 0.02)
        self.queries = nn.Parameter(torch.randn(config["queries"], wide))
        self.encoder = nn.ModuleList(
            AttentionBlock(wide, heads) for _ in range(config["layers"])
        )
        self.decoder = nn.ModuleList(
            AttentionBlock(wide, heads, looks=True) for _ in range(config["layers"])
        )
        self.norm = nn.LayerNorm(wide)
        self.head = nn.Linear(wide, config["classes"] + 5)
        anchors = torch.full((config["queries"], 4), 0.5)
        self.register_buffer("anchors", anchors)

    def forward(self, images: Tensor) -> Tensor:
        memory = _rows(self.narrow(self.pyramid(images)[-1])) + self.places
        for block in self.encoder:
            memory = block(memory)
        x = self.queries.expand(len(images), -1, -1)
        for block in self.decoder:
            x = block(x, memory)
        return boxes.with_boxes(self.head(self.norm(x)), self.anchors)


class TwoStage(nn.Module):
    """Proposes boxes, cuts the best out of the image and looks at each again."""

    cut = 4  # Rows and columns of what is cut out.

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages = config["width"], config["stages"]
        last = width << (stages - 1)
        self.keep = config["queries"]
        self.pyramid = Pyramid(width, stages, config["depth"], STRIDE)
        self.tower = ConvNorm(last, last)
        self.propose = nn.Conv2d(last, 5 * len(boxes.SIZES), 1)
        self.look = nn.Sequential(
            nn.Linear(last * self.cut**2, config["hidden"]),
            nn.ReLU(),
            nn.Linear(config["hidden"], config["classes"] + 4),
        )
        rows = (config["side"] // STRIDE) >> (stages - 1)
        self.register_buffer("anchors", boxes.grid(rows, boxes.SIZES))
        steps = (torch.arange(self.cut) + 0.5) / self.cut - 0.5
        y, x = torch.meshgrid(steps, steps, indexing="ij")
        self.register_buffer("inside", torch.stack([x, y], dim=-1).view(-1, 2))

    def forward(self, images: Tensor) -> Tensor:
        level = self.pyramid(images)[-1]
        found = _rows(self.propose(self.tower(level))).reshape(len(images), -1, 5)
        proposed = boxes.with_boxes(found, self.anchors)
        best = proposed[..., 0].topk(self.keep, dim=1).indices
        proposed = proposed.gather(1, best.unsqueeze(2).expand(-1, -1, 9))
        objectness, chosen = proposed[..., :1], proposed[..., 1:5]
        pieces = self.look(self.cut_out(level, chosen.detach()))
        classes, moved = pieces[..., :-4], pieces[..., -4:]
        joined = torch.cat([classes, objectness, moved], dim=2)
        return boxes.with_boxes(joined, chosen)

    def cut_out(self, level: Tensor, chosen: Tensor) -> Tensor:
        """Sample each box at ``cut`` x ``cut`` points: (batch, boxes, values)."""
        points = chosen[:, :, None, :2] + chosen[:, :, None, 2:] * self.inside
        pieces = F.grid_sample(level, 2 * points - 1, align_corners=False)
        return pieces.transpose(1, 2).flatten(2)


def _detector(
    name: str, model: type[nn.Module], losses: Callable[[Tensor, Tensor], Tensor]
) -> Family:
    # fmt: off
    scales = {
        "cuda": dict(batch=16, side=192, width=32, stages=4, depth=2, classes=20,
                     objects=12, hidden=256, heads=8, layers=3, queries=64),
        "small": dict(batch=2, side=48, width=16, stages=3, depth=1, classes=20,
                      objects=6, hidden=64, heads=4, layers=2, queries=24),
        "cpu": dict(batch=3, side=24, width=8, stages=2, depth=1, classes=4,
                    objects=2, hidden=16, heads=2, layers=1, queries=6),
    }
    # fmt: on
    return Family(name, scales, model, boxed_images, losses, task="detection")


FAMILIES: tuple[Family, ...] = (
    _detector("fcos", Fcos, boxes.center_losses),
    _detector("ssd", Ssd, boxes.overlap_losses),
    _detector("detr", Detr, boxes.set_losses),
    _detector("two_stage", TwoStage, boxes.set_losses),
)
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name in ("ssd", "detr"))
