# SPDX-License-Identifier: BSD-3-Clause
"""twins.py: twins beyond those of lab/corpus, whose difference a CPU shows."""

from __future__ import annotations

from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.lab.corpus.workloads.host_twins_loading import OneFarWorker
from benchmarks.lab.corpus.workloads.training import Training


class FetchesInStep(OneFarWorker):
    """Fetches samples from far, one after the other, between two steps."""

    workers = 0


class AdamFused(Training):
    """Updates all parameters in one call."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), fused=True)


class Autocasts(Training):
    """Casts weights and inputs to bfloat16 in each step, where autocast wants it."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(inputs).float()


class CastsOnce(Training):
    """Holds its weights in bfloat16, and casts inputs and outputs alone."""

    def make_model(self) -> nn.Module:
        return super().make_model().bfloat16()

    def forward(self, inputs: list[Tensor]) -> Tensor:
        floats = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
        return super().forward(floats).float()


class SpellsOutAttention(Training):
    """Computes attention by two products and a softmax between them."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        name = "scaled_dot_product_attention"
        with mock.patch.object(functional, name, attention):
            return super().forward(inputs)


def attention(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> Tensor:
    """Return what scaled_dot_product_attention does."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(-1) @ v
