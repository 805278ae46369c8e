# SPDX-License-Identifier: BSD-3-Clause
"""models.py: a ResNet-50 and a GPT in plain torch, and their training steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Step = Callable[[], Any]


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.shortcut: nn.Module | None = None
        if stride != 1 or inputs != 4 * width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                nn.BatchNorm2d(4 * width),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the block."""
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = functional.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return functional.relu(y, inplace=True)


def resnet50() -> nn.Sequential:
    """Return ResNet-50 for a thousand classes."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64),
        nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    inputs = 64
    for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(depth):
            stride = 2 if width > 64 and block == 0 else 1
            layers.append(Bottleneck(inputs, width, stride))
            inputs = 4 * width
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)
    )


def resnet_training(device: str, *, foreach: bool = False, batch: int = 32) -> Step:
    """A training step of ResNet-50, float32, SGD as torch 1.9 ran it.

    That is one parameter after the other, gradients set to zero and not to None.
    """
    model = resnet50().to(device).train()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.001, momentum=0.9, foreach=foreach
    )
    images = torch.rand(batch, 3, 224, 224)
    labels = torch.zeros(batch, dtype=torch.long)

    def step() -> None:
        loss = functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad(set_to_none=foreach)
        loss.backward()
        optimizer.step()

    return step


class Block(nn.Module):
    """A block of a GPT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs = nn.Linear(width, 3 * width)
        self.outputs = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the block."""
        batch, length, width = x.shape
        parts = self.inputs(self.norm1(x)).split(width, 2)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in parts)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.outputs(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """A GPT."""

    def __init__(self, words: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return what comes next after each word."""
        return self.head(self.norm(self.blocks(self.words(words))))


def gpt_training(
    device: str, *, width: int, heads: int, depth: int, batch: int, length: int
) -> tuple[Step, int]:
    """A training step in bf16 by autocast with AdamW; also the number of weights."""
    words = 50304
    with torch.device(device):
        model = Gpt(words, width, heads, depth)
        data = torch.zeros(batch, length, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        with torch.autocast(device, torch.bfloat16):
            logits = model(data)
            loss = functional.cross_entropy(logits.view(-1, words), data.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, sum(p.numel() for p in model.parameters())


def resnet_foreach(device: str) -> Step:
    """The same as torch runs it today: all parameters at once, no gradients kept."""
    return resnet_training(device, foreach=True)
