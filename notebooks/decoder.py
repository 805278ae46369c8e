# SPDX-License-Identifier: BSD-3-Clause
"""decoder.py: a language model that writes one token after the other.

By default it has 1.9 billion parameters, which are random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Sampler = Callable[[Tensor, Tensor, int], Tensor]


class Layer(nn.Module):
    """Attention to all that came before, then a feed-forward part."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.RMSNorm(width)
        self.before_forward = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        query, *new = self.qkv(self.before_attention(x)).chunk(3, dim=-1)
        past = torch.cat([past, torch.stack(new)], dim=2)
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (query, *past)
        )
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.silu(self.up(self.before_forward(x)))), past


class Decoder(nn.Module):
    """Gives the logits of the next token; keeps keys and values of those before."""

    def __init__(
        self, layers: int = 8, width: int = 4096, heads: int = 32, words: int = 32000
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.last = nn.RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.past: list[Tensor] = []

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens[:, None])
        past = self.past or [x.new_empty(2, len(x), 0, x.shape[-1])] * len(self.layers)
        self.past = []
        for layer, its_past in zip(self.layers, past, strict=True):
            x, new = layer(x, its_past)
            self.past.append(new)
        return self.head(self.last(x[:, -1])).float()


@torch.inference_mode()
def decode(
    model: Decoder, sample: Sampler, sequences: int = 16, steps: int = 4
) -> Iterator[Tensor]:
    """Yields the tokens of each step, one for each sequence."""
    device = model.head.weight.device
    tokens = torch.zeros(sequences, dtype=torch.long, device=device)
    for _ in range(steps):
        logits = model(tokens)
        noise = -torch.log(-torch.log(torch.rand_like(logits)))
        tokens = sample(logits, noise, 50)
        yield tokens
