# SPDX-License-Identifier: BSD-3-Clause
"""families/depth.py: models that tell how far each pixel is, from one image or two."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.layers import (
    AttentionBlock,
    ConvNorm,
    Patches,
    Pyramid,
    ResidualBlock,
    resized,
)
from benchmarks.lab.corpus.workloads.families.samples import deep_images, depth_losses


class Dpt(nn.Module):
    """Attention among patches; what several depths of it say is fused as images."""

    taps = 3

    def __init__(self, config: Config) -> None:
        super().__init__()
        wide, width = config["hidden"], config["width"]
        self.patches = Patches(config["side"], config["patch"], wide)
        self.blocks = nn.ModuleList(
            AttentionBlock(wide, config["heads"]) for _ in range(config["depth"])
        )
        self.read = nn.ModuleList(nn.Conv2d(wide, width, 1) for _ in range(self.taps))
        self.fuse = nn.ModuleList(ResidualBlock(width, width) for _ in range(self.taps))
        self.head = nn.Sequential(ConvNorm(width, width), nn.Conv2d(width, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        x, seen = self.patches(images), []
        for block in self.blocks:
            x = block(x)
            seen.append(x)
        above = None
        for i, (read, fuse) in enumerate(zip(self.read, self.fuse, strict=True)):
            level = read(self.patches.image(seen[-1 - i * len(seen) // self.taps]))
            level = F.interpolate(level, scale_factor=2.0**i, mode="bilinear")
            level = level if above is None else level + resized(above, level)
            above = fuse(level)
        return resized(self.head(above), images).squeeze(1)


class MonoDepth(nn.Module):
    """A U-Net that tells the depth at every size and adds all of them up."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, depth = config["width"], config["stages"], config["depth"]
        self.down = Pyramid(width, stages, depth)
        up = list(reversed(range(stages - 1)))
        self.up = nn.ModuleList(
            ConvNorm((width << i) + (width << (i + 1)), width << i) for i in up
        )
        self.tell = nn.ModuleList(nn.Conv2d(width << i, 1, 3, padding=1) for i in up)

    def forward(self, images: Tensor) -> Tensor:
        *levels, x = self.down(images)
        told = 0
        for block, tell in zip(self.up, self.tell, strict=True):
            level = levels.pop()
            x = block(torch.cat([level, resized(x, level)], dim=1))
            told = told + resized(tell(x), images)
        return told.squeeze(1)


class Stereo(nn.Module):
    """Compares two images at several offsets and looks at the result in 3D."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.offsets = config["offsets"]
        self.see = nn.Sequential(
            ConvNorm(3, width, stride=2), ResidualBlock(width, width)
        )
        layers: list[nn.Module] = []
        for i in range(config["depth"]):
            inside = width if i else 2 * width
            layers += [
                nn.Conv3d(inside, width, 3, padding=1, bias=False),
                nn.GroupNorm(4, width),
                nn.ReLU(),
            ]
        self.compare = nn.Sequential(*layers, nn.Conv3d(width, 1, 1, bias=False))
        self.register_buffer("steps", torch.arange(self.offsets) / self.offsets)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        a, b = self.see(left), self.see(right)
        moved = F.pad(b, (self.offsets, 0))
        volume = []
        for i in range(self.offsets):
            begin = self.offsets - i
            shifted = moved[..., begin : begin + a.shape[-1]]
            volume.append(torch.cat([a, shifted], dim=1))
        cost = self.compare(torch.stack(volume, dim=2)).squeeze(1)
        depth = (cost.softmax(1) * self.steps[:, None, None]).sum(1, keepdim=True)
        return resized(depth, left).squeeze(1)


def _two_images(config: Config, rng: torch.Generator) -> Batch:
    left, source, target = deep_images(config, rng)
    right = torch.roll(left, 2, dims=3) + 0.01 * torch.randn(left.shape, generator=rng)
    return left, right, source, target


# fmt: off
_PATCHES = {
    "cuda": dict(batch=24, side=192, patch=12, hidden=384, heads=6, depth=6, width=64),
    "small": dict(batch=2, side=64, patch=8, hidden=64, heads=4, depth=6, width=16),
    "cpu": dict(batch=3, side=16, patch=4, hidden=16, heads=2, depth=3, width=8),
}
_IMAGES = {
    "cuda": dict(batch=16, side=128, width=32, stages=4, depth=2),
    "small": dict(batch=2, side=48, width=16, stages=3, depth=1),
    "cpu": dict(batch=3, side=16, width=8, stages=2, depth=1),
}
_TWO = {
    "cuda": dict(batch=8, side=96, width=24, depth=4, offsets=12),
    "small": dict(batch=2, side=32, width=8, depth=4, offsets=8),
    "cpu": dict(batch=3, side=12, width=4, depth=1, offsets=3),
}
# fmt: on

FAMILIES: tuple[Family, ...] = (
    Family("dpt", _PATCHES, Dpt, deep_images, depth_losses, task="depth"),
    Family("monodepth", _IMAGES, MonoDepth, deep_images, depth_losses, task="depth"),
    Family("stereo", _TWO, Stereo, _two_images, depth_losses, task="depth"),
)
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name == "dpt")
