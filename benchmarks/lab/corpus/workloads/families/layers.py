# SPDX-License-Identifier: BSD-3-Clause
"""families/layers.py: blocks that several families are made of."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNorm(nn.Module):
    """A convolution, group norm and, unless ``active`` is false, a ReLU.

    The image keeps its size except for the stride.
    """

    def __init__(
        self,
        inside: int,
        outside: int,
        size: int = 3,
        stride: int = 1,
        *,
        groups: int = 1,
        dilation: int = 1,
        active: bool = True,
    ) -> None:
        super().__init__()
        padding = dilation * (size // 2)
        # No bias before a norm: its gradient is rounding noise, which Adam would
        # blow up to full steps that no two runs share.
        self.conv = nn.Conv2d(
            inside, outside, size, stride, padding, dilation, groups, bias=False
        )
        self.norm = nn.GroupNorm(4, outside)
        self.active = active

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x))
        return F.relu(x) if self.active else x


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with group norm; the first may halve the image."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        self.first = ConvNorm(inside, outside, stride=stride)
        self.second = ConvNorm(outside, outside, active=False)
        same = stride == 1 and inside == outside
        self.skip = (
            nn.Identity() if same else nn.Conv2d(inside, outside, 1, stride, bias=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(self.first(x)) + self.skip(x))


class Pyramid(nn.Module):
    """Residual stages; returns the image after each, every one half the last's size.

    Stage i has ``width << i`` channels; the first has the size of the input divided by
    ``stride``.
    """

    def __init__(self, width: int, stages: int, depth: int, stride: int = 1) -> None:
        super().__init__()
        self.stem = ConvNorm(3, width, stride=stride)
        self.stages = nn.ModuleList()
        inside = width
        for stage in range(stages):
            outside = width << stage
            blocks = [ResidualBlock(inside, outside, 2 if stage else 1)]
            blocks += [ResidualBlock(outside, outside) for _ in range(depth - 1)]
            self.stages.append(nn.Sequential(*blocks))
            inside = outside

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x)
        levels = []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        return levels


class Attention(nn.Module):
    """Attention among ``x``, or of ``x`` to ``memory``; (batch, length, width)."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        # No bias: softmax takes no notice of the keys', see ConvNorm.
        self.query = nn.Linear(width, width, bias=False)
        self.pair = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        key, value = self.pair(x if memory is None else memory).chunk(2, dim=-1)
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(x), key, value)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Sequential):
    """Two linear layers, the inner four times as wide by default."""

    def __init__(self, width: int, inner: int | None = None, bias: bool = True) -> None:
        inner = inner or 4 * width
        last = nn.Linear(inner, width, bias=bias)
        super().__init__(nn.Linear(width, inner), nn.GELU(), last)


class AttentionBlock(nn.Module):
    """Pre-norm attention and a feed-forward layer; may look at a memory between."""

    def __init__(
        self, width: int, heads: int, *, causal: bool = False, looks: bool = False
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.mix = Attention(width, heads, causal)
        self.norm2 = nn.LayerNorm(width) if looks else None
        self.look = Attention(width, heads) if looks else None
        self.norm3 = nn.LayerNorm(width)
        self.feed = FeedForward(width)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        x = x + self.mix(self.norm1(x))
        if self.look is not None:
            x = x + self.look(self.norm2(x), memory)
        return x + self.feed(self.norm3(x))


class Patches(nn.Module):
    """Cuts images into patches and embeds each: (batch, patches, width), row by row.

    Lays a learned place on each patch.
    """

    def __init__(self, side: int, patch: int, width: int) -> None:
        super().__init__()
        self.rows = side // patch
        self.cut = nn.Conv2d(3, width, patch, patch)
        self.places = nn.Parameter(torch.randn(self.rows**2, width) * 0.02)

    def forward(self, images: Tensor) -> Tensor:
        return self.cut(images).flatten(2).transpose(1, 2) + self.places

    def image(self, x: Tensor) -> Tensor:
        """Put the patches back where they were: (batch, width, rows, rows)."""
        return x.transpose(1, 2).unflatten(2, (self.rows, self.rows))


def resized(x: Tensor, like: Tensor) -> Tensor:
    """Return images ``x`` in the size of ``like``."""
    return F.interpolate(x, size=like.shape[-2:], mode="bilinear", align_corners=False)
