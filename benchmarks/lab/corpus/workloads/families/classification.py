# SPDX-License-Identifier: BSD-3-Clause
"""families/classification.py: image classifiers made of convolutions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Config, Family
from benchmarks.lab.corpus.workloads.families.layers import ConvNorm, ResidualBlock
from benchmarks.lab.corpus.workloads.families.samples import (
    class_losses,
    labeled_images,
)


class Classifier(nn.Module):
    """A stem, a chain of blocks, the mean over the image and a linear layer."""

    stride = 1

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, depth = config["width"], config["stages"], config["depth"]
        self.stem = ConvNorm(3, width, stride=self.stride)
        blocks: list[nn.Module] = []
        inside = width
        for stage in range(stages):
            for i in range(depth):
                outside = width << stage
                stride = 2 if stage > 0 and i == 0 else 1
                blocks.append(self.block(inside, outside, stride))
                inside = outside
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(inside, config["classes"])

    def block(self, inside: int, outside: int, stride: int) -> nn.Module:
        return ResidualBlock(inside, outside, stride)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


class Squeeze(nn.Module):
    """Weighs channels by what the whole image holds of them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(width, max(width // 8, 4), 1)
        self.up = nn.Conv2d(max(width // 8, 4), width, 1)

    def forward(self, x: Tensor) -> Tensor:
        weights = self.up(F.silu(self.down(x.mean((2, 3), keepdim=True))))
        return x * torch.sigmoid(weights)


class InvertedBlock(nn.Module):
    """Widens, convolves each channel by itself, and narrows again."""

    def __init__(self, inside: int, outside: int, stride: int, squeeze: bool) -> None:
        super().__init__()
        inner = 4 * inside
        self.layers = nn.Sequential(
            ConvNorm(inside, inner, 1),
            ConvNorm(inner, inner, 3, stride, groups=inner),
            Squeeze(inner) if squeeze else nn.Identity(),
            ConvNorm(inner, outside, 1, active=False),
        )
        self.same = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.same else self.layers(x)


class MobileNet(Classifier):
    """Inverted blocks with depthwise convolutions."""

    def block(self, inside: int, outside: int, stride: int) -> nn.Module:
        return InvertedBlock(inside, outside, stride, squeeze=False)


class EfficientNet(Classifier):
    """The same, with channels weighed in each block."""

    def block(self, inside: int, outside: int, stride: int) -> nn.Module:
        return InvertedBlock(inside, outside, stride, squeeze=True)


class NextBlock(nn.Module):
    """A 7x7 depthwise convolution, layer norm and a feed-forward layer."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        same = stride == 1 and inside == outside
        self.shrink = None if same else nn.Conv2d(inside, outside, stride, stride)
        self.across = nn.Conv2d(
            outside, outside, 7, padding=3, groups=outside, bias=False
        )
        self.norm = nn.LayerNorm(outside)
        self.up = nn.Linear(outside, 4 * outside)
        self.down = nn.Linear(4 * outside, outside)

    def forward(self, x: Tensor) -> Tensor:
        if self.shrink is not None:
            x = self.shrink(x)
        y = self.norm(self.across(x).permute(0, 2, 3, 1))
        y = self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNext(Classifier):
    """Blocks whose feed-forward layers have the channels last."""

    def block(self, inside: int, outside: int, stride: int) -> nn.Module:
        return NextBlock(inside, outside, stride)


class DenseBlock(nn.Module):
    """Layers that each see the outputs of all before them, then one that shrinks."""

    layers_each = 4

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        growth = max(outside // 4, 4)
        self.layers = nn.ModuleList(
            ConvNorm(inside + i * growth, growth) for i in range(self.layers_each)
        )
        total = inside + self.layers_each * growth
        self.shrink = ConvNorm(total, outside, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        seen = [x]
        for layer in self.layers:
            seen.append(layer(torch.cat(seen, dim=1)))
        return self.shrink(torch.cat(seen, dim=1))


class DenseNet(Classifier):
    """Dense blocks, one a stage."""

    def block(self, inside: int, outside: int, stride: int) -> nn.Module:
        return DenseBlock(inside, outside, stride)


def _family(name: str, model: type[nn.Module], **scales: Config) -> Family:
    return Family(
        name, scales, model, labeled_images, class_losses, task="classification"
    )


# fmt: off
FAMILIES: tuple[Family, ...] = (
    _family(
        "cnn", Classifier,
        cuda=dict(batch=128, side=64, width=32, stages=3, depth=3, classes=100),
        small=dict(batch=8, side=32, width=16, stages=3, depth=2, classes=100),
        cpu=dict(batch=4, side=12, width=8, stages=2, depth=1, classes=10),
    ),
    _family(
        "mobilenet", MobileNet,
        cuda=dict(batch=96, side=64, width=24, stages=4, depth=3, classes=100),
        small=dict(batch=8, side=32, width=8, stages=3, depth=2, classes=100),
        cpu=dict(batch=4, side=12, width=8, stages=2, depth=1, classes=10),
    ),
    _family(
        "efficientnet", EfficientNet,
        cuda=dict(batch=96, side=64, width=24, stages=4, depth=3, classes=100),
        small=dict(batch=8, side=32, width=8, stages=3, depth=2, classes=100),
        cpu=dict(batch=4, side=12, width=8, stages=2, depth=1, classes=10),
    ),
    _family(
        "convnext", ConvNext,
        cuda=dict(batch=64, side=64, width=48, stages=4, depth=3, classes=100),
        small=dict(batch=8, side=24, width=16, stages=3, depth=2, classes=100),
        cpu=dict(batch=4, side=12, width=8, stages=2, depth=1, classes=10),
    ),
    _family(
        "densenet", DenseNet,
        cuda=dict(batch=64, side=64, width=48, stages=4, depth=2, classes=100),
        small=dict(batch=8, side=24, width=16, stages=3, depth=1, classes=100),
        cpu=dict(batch=4, side=12, width=8, stages=2, depth=1, classes=10),
    ),
)
# fmt: on
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name in ("cnn", "mobilenet"))
