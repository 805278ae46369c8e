# SPDX-License-Identifier: BSD-3-Clause
"""families/named_text.py: models that write text, token after token."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.samples import sources

END = 0
"""The token that ends a text."""


def sample_static(logits: Tensor, noise: Tensor, k: int) -> Tensor:
    """Draw one of the ``k`` likeliest tokens: every size is known beforehand."""
    values, kept = torch.topk(logits, k)
    best = torch.argmax(values + noise.gather(1, kept), dim=1, keepdim=True)
    return kept.gather(1, best).squeeze(1)


class TextSampler(nn.Module):
    """Draws tokens; returns the likelihood of each. ``sample`` can be replaced."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, words = config["width"], config["vocabulary"]
        self.k = config["likeliest"]
        self.tokens = nn.Embedding(words, width)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, words, bias=False)
        self.sample = sample_static

    def forward(self, state: Tensor, noise: Tensor) -> Tensor:
        told = []
        for drawn in noise.unbind(1):
            logits = self.head(state)
            token = self.sample(logits, drawn, self.k)
            chance = logits.log_softmax(1).gather(1, token.unsqueeze(1))
            told.append(chance.squeeze(1))
            state = torch.tanh(self.mix(state) + self.tokens(token))
        return torch.stack(told, dim=1)


class Writer(nn.Module):
    """A recurrent model that continues prompts by the likeliest token each time.

    Returns the logarithm of each token's chance, 0 from END on. ``write`` can be
    replaced.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config["width"]
        self.count = config["count"]
        self.tokens = nn.Embedding(config["vocabulary"], width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, config["vocabulary"])

    def read(
        self, tokens: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the chances of the next token, and the state after these."""
        seen, state = self.rnn(self.tokens(tokens), state)
        return F.log_softmax(self.head(seen[:, -1]), dim=1), state

    def write(self, prompts: Tensor) -> Tensor:
        told = torch.zeros(len(prompts), self.count, device=prompts.device)
        ended = torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
        chances, state = self.read(prompts)
        for t in range(self.count):
            best, token = chances.max(1)
            told[:, t] = best.masked_fill(ended, 0.0)
            ended |= token == END
            chances, state = self.read(token.unsqueeze(1), state)
        return told

    def forward(self, prompts: Tensor) -> Tensor:
        return self.write(prompts)


def _draws(config: Config, rng: torch.Generator) -> Batch:
    batch, words = config["batch"], config["vocabulary"]
    state = torch.randn(batch, config["width"], generator=rng)
    uniform = torch.rand(batch, config["count"], words, generator=rng)
    noise = -torch.log(-torch.log(uniform.clamp(1e-7, 1 - 1e-7)))
    return state, noise, sources(config, rng), torch.zeros(batch)


def _prompts(config: Config, rng: torch.Generator) -> Batch:
    batch = config["batch"]
    shape = (batch, config["length"])
    prompts = torch.randint(1, config["vocabulary"], shape, generator=rng)
    return prompts, sources(config, rng), torch.zeros(batch)


def _unlikeliness(outputs: Tensor, target: Tensor) -> Tensor:
    return target - outputs.mean(1)


# fmt: off
FAMILIES = (
    Family("text_sampler", {
        "cuda": dict(batch=32, count=8, width=1024, vocabulary=32_000, likeliest=50),
        "small": dict(batch=32, count=6, width=64, vocabulary=8192, likeliest=50),
        "cpu": dict(batch=4, count=3, width=16, vocabulary=64, likeliest=8),
    }, TextSampler, _draws, _unlikeliness, trains=False),
    Family("lstm_writer", {
        "cuda": dict(batch=16, length=16, count=32, width=512, vocabulary=256),
        "small": dict(batch=8, length=8, count=24, width=128, vocabulary=96),
        "cpu": dict(batch=3, length=4, count=4, width=8, vocabulary=16),
    }, Writer, _prompts, _unlikeliness, trains=False),
)
# fmt: on
