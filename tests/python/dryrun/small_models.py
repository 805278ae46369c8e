# SPDX-License-Identifier: BSD-3-Clause
"""small_models.py: a small CNN and a small transformer, and a training step."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES, WORDS, LENGTH = 10, 50, 16


class Cnn(nn.Module):
    """Convolutions, a residual connection, batch norm, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8))
        self.block = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        x = F.relu(self.stem(images))
        x = F.max_pool2d(F.relu(x + self.block(x)), 2)
        return self.head(x.mean((2, 3)))


class Layer(nn.Module):
    """Attention and a feed-forward part, both with layer norm before."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_forward = (
            nn.LayerNorm(width),
            nn.LayerNorm(width),
        )
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.forward_part = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        b, t, width = x.shape
        qkv = self.qkv(self.before_attention(x))
        q, k, v = qkv.view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / (width / self.heads) ** 0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, width))
        return x + self.forward_part(self.before_forward(x))


class Transformer(nn.Module):
    """Next-word prediction."""

    def __init__(self, width: int = 32, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Embedding(LENGTH, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(x).transpose(1, 2)


def batch(model: nn.Module) -> tuple[Tensor, Tensor]:
    """Return inputs and targets on the host."""
    if isinstance(model, Cnn):
        return torch.randn(4, 3, 8, 8), torch.randint(0, CLASSES, (4,))
    ids = torch.randint(0, WORDS, (2, LENGTH))
    return ids, ids.roll(-1, 1)


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, inputs: Tensor, targets: Tensor
) -> Tensor:
    """Take one step; return the loss, without a wait for it."""
    loss = F.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()
