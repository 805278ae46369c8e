# SPDX-License-Identifier: BSD-3-Clause
"""families/generation_text.py: models of text."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.layers import AttentionBlock, FeedForward
from benchmarks.lab.corpus.workloads.families.samples import (
    sentences,
    sources,
    token_losses,
)


class Transformer(nn.Module):
    """A decoder-only language model."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.tokens = nn.Embedding(config["vocabulary"], width)
        self.places = nn.Parameter(torch.randn(config["length"], width) * 0.02)
        self.blocks = nn.ModuleList(self.block(config) for _ in range(config["depth"]))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, config["vocabulary"], bias=False)

    def block(self, config: Config) -> nn.Module:
        return AttentionBlock(config["width"], config["heads"], causal=True)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Experts(nn.Module):
    """Feed-forward layers that each take the places of a sample that suit them most.

    Every expert takes equally many, so that no shape depends on data.
    """

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(FeedForward(width) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        weights = self.gate(x).softmax(-1).transpose(1, 2)
        share, taken = weights.topk(2 * x.shape[1] // len(self.experts), dim=2)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = taken[:, i].unsqueeze(2).expand(-1, -1, x.shape[2])
            out = out.scatter_add(
                1, rows, expert(x.gather(1, rows)) * share[:, i].unsqueeze(2)
            )
        return out


class SparseTransformer(Transformer):
    """The same with experts for feed-forward layers."""

    def block(self, config: Config) -> nn.Module:
        block = super().block(config)
        block.feed = Experts(config["width"], config["experts"])
        return block


class Translator(nn.Module):
    """An encoder of one text and a decoder of another that looks at it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, heads = config["width"], config["heads"]
        self.tokens = nn.Embedding(config["vocabulary"], width)
        self.places = nn.Parameter(torch.randn(config["length"], width) * 0.02)
        self.encoder = nn.ModuleList(
            AttentionBlock(width, heads) for _ in range(config["depth"])
        )
        self.decoder = nn.ModuleList(
            AttentionBlock(width, heads, causal=True, looks=True)
            for _ in range(config["depth"])
        )
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.head = nn.Linear(width, config["vocabulary"], bias=False)

    def forward(self, given: Tensor, tokens: Tensor) -> Tensor:
        memory = self.tokens(given) + self.places
        for block in self.encoder:
            memory = block(memory)
        memory = self.norm1(memory)
        x = self.tokens(tokens) + self.places
        for block in self.decoder:
            x = block(x, memory)
        return self.head(self.norm2(x))


class Decoder(Transformer):
    """Reads its text token by token, keeping nothing: the whole prefix each time.

    As generation does, except for the choice of the next token, which is given.
    """

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        last = []
        for end in range(1, length + 1):
            x = self.tokens(tokens[:, :end]) + self.places[:end]
            for block in self.blocks:
                x = block(x)
            last.append(self.head(self.norm(x[:, -1])))
        return torch.stack(last, dim=1)


class CharLstm(nn.Module):
    """A recurrent character model; ``recur`` is a method so that it can be replaced."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config["vocabulary"], config["width"])
        self.rnn = nn.LSTM(config["width"], config["width"], batch_first=True)
        self.head = nn.Linear(config["width"], config["vocabulary"])

    def recur(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.recur(self.tokens(tokens)))


def _translations(config: Config, rng: torch.Generator) -> Batch:
    shape = (config["batch"], config["length"])
    given = torch.randint(config["vocabulary"], shape, generator=rng)
    tokens, _, target = sentences(config, rng)
    return given, tokens, sources(config, rng), target


# fmt: off
_TEXT = {
    "cuda": dict(batch=32, length=256, width=512, heads=8, depth=6, vocabulary=4096),
    "small": dict(batch=4, length=64, width=64, heads=4, depth=4, vocabulary=512),
    "cpu": dict(batch=4, length=8, width=16, heads=2, depth=2, vocabulary=64),
}
_SPARSE = {
    "cuda": dict(batch=16, length=256, width=384, heads=6, depth=4, vocabulary=4096,
                 experts=8),
    "small": dict(batch=4, length=64, width=64, heads=4, depth=2, vocabulary=512,
                  experts=8),
    "cpu": dict(batch=4, length=8, width=16, heads=2, depth=1, vocabulary=64,
                experts=2),
}
_PAIRS = {
    "cuda": dict(batch=24, length=128, width=512, heads=8, depth=3, vocabulary=4096),
    "small": dict(batch=4, length=48, width=64, heads=4, depth=2, vocabulary=512),
    "cpu": dict(batch=4, length=8, width=16, heads=2, depth=1, vocabulary=64),
}
_DECODED = {
    "cuda": dict(batch=8, length=16, width=512, heads=8, depth=6, vocabulary=4096),
    "small": dict(batch=2, length=16, width=64, heads=4, depth=2, vocabulary=512),
    "cpu": dict(batch=2, length=4, width=16, heads=2, depth=1, vocabulary=64),
}
_CHARACTERS = {
    "cuda": dict(batch=16, length=48, width=128, vocabulary=128),
    "small": dict(batch=16, length=96, width=192, vocabulary=128),
    "cpu": dict(batch=2, length=6, width=8, vocabulary=16),
}
# fmt: on

FAMILIES: tuple[Family, ...] = (
    Family("transformer", _TEXT, Transformer, sentences, token_losses),
    Family("lstm", _CHARACTERS, CharLstm, sentences, token_losses),
    Family("translator", _PAIRS, Translator, _translations, token_losses),
    Family("experts", _SPARSE, SparseTransformer, sentences, token_losses),
    Family("decoding", _DECODED, Decoder, sentences, token_losses, trains=False),
)
FAMILIES += tuple(f.inference() for f in FAMILIES if f.name == "transformer")
