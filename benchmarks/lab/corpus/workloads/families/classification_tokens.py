# SPDX-License-Identifier: BSD-3-Clause
"""families/classification_tokens.py: image classifiers made of patches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Config, Family
from benchmarks.lab.corpus.workloads.families.layers import (
    AttentionBlock,
    FeedForward,
    Patches,
)
from benchmarks.lab.corpus.workloads.families.samples import (
    class_losses,
    labeled_images,
)


class PatchClassifier(nn.Module):
    """Attention among all patches of an image."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.patches = Patches(config["side"], config["patch"], width)
        self.blocks = nn.ModuleList(
            self.block(config, i) for i in range(config["depth"])
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config["classes"])

    def block(self, config: Config, i: int) -> nn.Module:
        return AttentionBlock(config["width"], config["heads"])

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


class WindowBlock(nn.Module):
    """Attention inside square windows, which may be shifted by half of one.

    Shifted windows wrap around the image's edges.
    """

    def __init__(self, config: Config, shifted: bool) -> None:
        super().__init__()
        self.rows, self.window = config["side"] // config["patch"], config["window"]
        self.shift = self.window // 2 if shifted else 0
        self.inner = AttentionBlock(config["width"], config["heads"])

    def forward(self, x: Tensor) -> Tensor:
        batch, _, width = x.shape
        count, w = self.rows // self.window, self.window
        x = x.view(batch, self.rows, self.rows, width)
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(batch, count, w, count, w, width).transpose(2, 3)
        x = self.inner(x.reshape(-1, w * w, width))
        x = x.view(batch, count, count, w, w, width).transpose(2, 3)
        x = x.reshape(batch, self.rows, self.rows, width)
        if self.shift:
            x = torch.roll(x, (self.shift, self.shift), (1, 2))
        return x.flatten(1, 2)


class Swin(PatchClassifier):
    """Attention in windows, every other time in shifted ones."""

    def block(self, config: Config, i: int) -> nn.Module:
        return WindowBlock(config, shifted=i % 2 == 1)


class MixerBlock(nn.Module):
    """A feed-forward layer over the patches, then one over the channels."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        # No bias: the norms take off what all channels of a patch have in common.
        self.across = FeedForward(patches, width, bias=False)
        self.norm1 = nn.LayerNorm(width)
        self.norm2, self.along = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norm2(x))


class Mixer(PatchClassifier):
    """Linear layers alone."""

    def block(self, config: Config, i: int) -> nn.Module:
        return MixerBlock((config["side"] // config["patch"]) ** 2, config["width"])


def _patched(name: str, model: type[nn.Module], depths: str) -> Family:
    """Make a family of patches; ``depths`` are those of the three scales."""
    cuda, small, cpu = map(int, depths.split())
    # fmt: off
    scales = {
        "cuda": dict(batch=64, side=128, patch=8, window=8, width=384, heads=6,
                     depth=cuda, classes=100),
        "small": dict(batch=8, side=32, patch=4, window=4, width=64, heads=4,
                      depth=small, classes=100),
        "cpu": dict(batch=4, side=16, patch=4, window=2, width=16, heads=2,
                    depth=cpu, classes=10),
    }
    # fmt: on
    return Family(
        name, scales, model, labeled_images, class_losses, task="classification"
    )


FAMILIES: tuple[Family, ...] = (
    _patched("vit", PatchClassifier, "6 6 2"),
    _patched("swin", Swin, "6 6 2"),
    _patched("mixer", Mixer, "8 8 2"),
)
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name == "vit")
