# SPDX-License-Identifier: BSD-3-Clause
"""families/segmentation.py: models that give each pixel a class."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Config, Family
from benchmarks.lab.corpus.workloads.families.layers import (
    ConvNorm,
    FeedForward,
    Pyramid,
    ResidualBlock,
    resized,
)
from benchmarks.lab.corpus.workloads.families.samples import masked_images, pixel_losses


class Unet(nn.Module):
    """Down a pyramid and up again, with the image of each size joined on the way."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, depth = config["width"], config["stages"], config["depth"]
        self.down = Pyramid(width, stages, depth)
        self.up = nn.ModuleList(
            ResidualBlock((width << i) + (width << (i + 1)), width << i)
            for i in reversed(range(stages - 1))
        )
        self.head = nn.Conv2d(width, config["classes"], 1)

    def forward(self, images: Tensor) -> Tensor:
        *levels, x = self.down(images)
        for level, block in zip(reversed(levels), self.up, strict=True):
            x = block(torch.cat([level, resized(x, level)], dim=1))
        return self.head(x)


class DeepLab(nn.Module):
    """Convolutions with holes of several sizes, beside the mean of the image."""

    holes = (1, 2, 4)

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages = config["width"], config["stages"]
        last = width << (stages - 1)
        self.pyramid = Pyramid(width, stages, config["depth"], stride=2)
        self.looks = nn.ModuleList(
            ConvNorm(last, width, dilation=hole) for hole in self.holes
        )
        self.whole = nn.Conv2d(last, width, 1)
        self.join = ConvNorm(width * (len(self.holes) + 1), width, 1)
        self.refine = ConvNorm(2 * width, width)
        self.head = nn.Conv2d(width, config["classes"], 1)

    def forward(self, images: Tensor) -> Tensor:
        first, *_, x = self.pyramid(images)
        looks = [look(x) for look in self.looks]
        whole = self.whole(x.mean((2, 3), keepdim=True)).expand_as(looks[0])
        x = self.join(torch.cat([*looks, whole], dim=1))
        x = self.refine(torch.cat([first, resized(x, first)], dim=1))
        return resized(self.head(x), images)


class ReducedBlock(nn.Module):
    """Attention of all places to a smaller image, then a feed-forward layer."""

    def __init__(self, width: int, heads: int, reduction: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.reduce = nn.Conv2d(width, width, reduction, reduction)
        self.norm2 = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.pair = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.norm3 = nn.LayerNorm(width)
        self.feed = FeedForward(width)

    def forward(self, images: Tensor) -> Tensor:
        x = images.flatten(2).transpose(1, 2)
        y = self.norm1(x)
        small = self.reduce(y.transpose(1, 2).unflatten(2, images.shape[2:]))
        pair = self.pair(self.norm2(small.flatten(2).transpose(1, 2)))
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(y), *pair.chunk(2, dim=-1))
        )
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        x = x + self.feed(self.norm3(x))
        return x.transpose(1, 2).unflatten(2, images.shape[2:])


class SegFormer(nn.Module):
    """Stages of attention, each on an image half as large; all joined at the end."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages = config["width"], config["stages"]
        self.shrink, self.stages = nn.ModuleList(), nn.ModuleList()
        self.even = nn.ModuleList()
        inside = 3
        for i in range(stages):
            outside, stride = width << i, 2 if i else 4
            self.shrink.append(
                nn.Conv2d(inside, outside, stride + 1, stride, padding=stride // 2)
            )
            reduction = max(1, 1 << (stages - 1 - i))
            blocks = [
                ReducedBlock(outside, config["heads"], reduction)
                for _ in range(config["depth"])
            ]
            self.stages.append(nn.Sequential(*blocks))
            self.even.append(nn.Conv2d(outside, width, 1))
            inside = outside
        self.join = ConvNorm(stages * width, width, 1)
        self.head = nn.Conv2d(width, config["classes"], 1)

    def forward(self, images: Tensor) -> Tensor:
        x, levels = images, []
        for shrink, stage, even in zip(
            self.shrink, self.stages, self.even, strict=True
        ):
            x = stage(shrink(x))
            levels.append(even(x))
        joined = torch.cat([resized(x, levels[0]) for x in levels], dim=1)
        return resized(self.head(self.join(joined)), images)


# fmt: off
_IMAGES = {
    "cuda": dict(batch=16, side=128, width=32, stages=4, depth=2, classes=20),
    "small": dict(batch=2, side=48, width=16, stages=3, depth=1, classes=20),
    "cpu": dict(batch=3, side=16, width=8, stages=2, depth=1, classes=4),
}
_REDUCED = {
    "cuda": dict(batch=16, side=256, width=64, stages=4, depth=2, classes=20, heads=4),
    "small": dict(batch=4, side=64, width=32, stages=3, depth=2, classes=20, heads=4),
    "cpu": dict(batch=3, side=32, width=8, stages=2, depth=1, classes=4, heads=2),
}
# fmt: on


def _family(name: str, scales: dict[str, Config], model: type[nn.Module]) -> Family:
    return Family(name, scales, model, masked_images, pixel_losses, "segmentation")


FAMILIES: tuple[Family, ...] = (
    _family("unet", _IMAGES, Unet),
    _family("deeplab", _IMAGES, DeepLab),
    _family("segformer", _REDUCED, SegFormer),
)
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name == "segformer")
