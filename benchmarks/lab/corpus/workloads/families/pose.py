# SPDX-License-Identifier: BSD-3-Clause
"""families/pose.py: models that find the joints of a body."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Config, Family
from benchmarks.lab.corpus.workloads.families.layers import (
    AttentionBlock,
    ConvNorm,
    Patches,
    Pyramid,
    ResidualBlock,
    resized,
)
from benchmarks.lab.corpus.workloads.families.samples import (
    heat_losses,
    posed_images,
    square_losses,
)


class Exchange(nn.Module):
    """A block for the image of each size, then each gets what the others have."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(ResidualBlock(width, width) for width in widths)
        self.across = nn.ModuleList(
            nn.ModuleList(
                nn.Identity() if i == j else ConvNorm(inside, outside, 1, active=False)
                for i, inside in enumerate(widths)
            )
            for j, outside in enumerate(widths)
        )

    def forward(self, levels: list[Tensor]) -> list[Tensor]:
        levels = [
            block(level) for block, level in zip(self.blocks, levels, strict=True)
        ]
        out = []
        for here, across in zip(levels, self.across, strict=True):
            total = 0
            for there, change in zip(levels, across, strict=True):
                moved = change(there)
                total = total + (moved if there is here else resized(moved, here))
            out.append(torch.relu(total))
        return out


class Hrnet(nn.Module):
    """Images of all sizes side by side to the end, exchanged after each block."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages = config["width"], config["stages"]
        self.begin = Pyramid(width, stages, 1, stride=2)
        widths = [width << i for i in range(stages)]
        self.exchanges = nn.ModuleList(Exchange(widths) for _ in range(config["depth"]))
        self.head = nn.Conv2d(sum(widths), config["joints"], 1)

    def forward(self, images: Tensor) -> Tensor:
        levels = self.begin(images)
        for exchange in self.exchanges:
            levels = exchange(levels)
        joined = [resized(level, levels[0]) for level in levels]
        return self.head(torch.cat(joined, dim=1))


class Glass(nn.Module):
    """One hourglass: down to a small image and up again."""

    def __init__(self, width: int, stages: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(ResidualBlock(width, width, 2) for _ in range(stages))
        self.beside = nn.ModuleList(ResidualBlock(width, width) for _ in range(stages))
        self.middle = ResidualBlock(width, width)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for down, beside in zip(self.down, self.beside, strict=True):
            kept.append(beside(x))
            x = down(x)
        x = self.middle(x)
        while kept:
            level = kept.pop()
            x = level + resized(x, level)
        return x


class Hourglass(nn.Module):
    """Hourglasses in a row; the maps of all are added up."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.stem = ConvNorm(3, width, 7, 2)
        self.blocks = nn.ModuleList(
            Glass(width, config["stages"]) for _ in range(config["depth"])
        )
        self.heads = nn.ModuleList(
            nn.Conv2d(width, config["joints"], 1) for _ in range(config["depth"])
        )

    def forward(self, images: Tensor) -> Tensor:
        x, maps = self.stem(images), 0
        for block, head in zip(self.blocks, self.heads, strict=True):
            x = block(x)
            maps = maps + head(x)
        return maps


class JointTokens(nn.Module):
    """A token for each joint that takes part in the attention among patches."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.joints = nn.Parameter(torch.randn(config["joints"], width))
        self.patches = Patches(config["side"], config["patch"], width)
        self.blocks = nn.ModuleList(
            AttentionBlock(width, config["heads"]) for _ in range(config["depth"])
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 2)

    def forward(self, images: Tensor) -> Tensor:
        joints = self.joints.expand(len(images), -1, -1)
        x = torch.cat([joints, self.patches(images)], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, : len(self.joints)]))


# fmt: off
_MAPS = {
    "cuda": dict(batch=24, side=128, width=32, stages=3, depth=4, joints=17),
    "small": dict(batch=2, side=48, width=16, stages=3, depth=2, joints=17),
    "cpu": dict(batch=3, side=24, width=8, stages=2, depth=1, joints=4),
}
_TOKENS = {
    "cuda": dict(batch=64, side=128, patch=8, width=256, heads=8, depth=8, joints=17),
    "small": dict(batch=4, side=48, patch=6, width=64, heads=4, depth=6, joints=17),
    "cpu": dict(batch=3, side=16, patch=4, width=16, heads=2, depth=2, joints=4),
}
# fmt: on

FAMILIES: tuple[Family, ...] = (
    Family("hrnet", _MAPS, Hrnet, posed_images, heat_losses, task="pose"),
    Family("hourglass", _MAPS, Hourglass, posed_images, heat_losses, task="pose"),
    Family("joints", _TOKENS, JointTokens, posed_images, square_losses, task="pose"),
)
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name == "hrnet")
