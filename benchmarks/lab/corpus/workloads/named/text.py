# SPDX-License-Identifier: BSD-3-Clause
"""named/text.py: twins that write text."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.device_twins.compiling import Compiles
from benchmarks.lab.corpus.workloads.device_twins.loops import RunsSamplesAlone
from benchmarks.lab.corpus.workloads.families.named_text import (
    END,
    Writer,
    sample_static,
)
from benchmarks.lab.corpus.workloads.training import Training


def sample_by_mask(logits: Tensor, noise: Tensor, k: int) -> Tensor:
    """Draw of what reaches the k-th largest: how many, only the device knows."""
    likely = logits >= torch.topk(logits, k).values[:, -1:]
    hits = torch.nonzero(likely)  # cause: sampler_by_mask, sampler_by_mask_compiled
    rows, kept = hits.unbind(1)
    scores = torch.full_like(logits, -torch.inf)
    scores[rows, kept] = (logits + noise)[likely]  # cause: sampler_by_mask
    return torch.argmax(scores, dim=1)


class SamplesByMask(Training):
    """Draws with shapes that depend on data; its places are the rows of a batch."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        model.sample = self.sample
        return model

    def sample(self, logits: Tensor, noise: Tensor, k: int) -> Tensor:
        alone = self.lab.share(len(logits))
        token = sample_by_mask(logits[:alone], noise[:alone], k)
        if alone == len(logits):
            return token
        rest = sample_static(logits[alone:], noise[alone:], k)
        return torch.cat([token, rest])


class DrawsAlone(RunsSamplesAlone):
    """Draws for one row of a batch at a time; its places are the rows."""

    def run_one(self, one: list[Tensor]) -> Tensor:
        return Training.forward(self, one)  # cause: sampler_rows_alone


class WritesAlone(RunsSamplesAlone):
    """Writes one text at a time; its places are the texts."""

    def run_one(self, one: list[Tensor]) -> Tensor:
        return Training.forward(self, one)  # cause: sequences_alone


class CompilesSampler(Training):
    """Draws with static shapes, compiled in one graph."""

    sample = staticmethod(sample_static)

    def make_model(self) -> nn.Module:
        model = super().make_model()
        model.sample = torch.compile(type(self).sample, backend=Compiles.backend)
        return model

    def close(self) -> None:
        torch.compiler.reset()


class CompilesSamplerByMask(CompilesSampler):
    """Draws with shapes that depend on data, compiled as far as that goes."""

    sample = staticmethod(sample_by_mask)


def write_reading(model: Writer, reads: int, prompts: Tensor) -> Tensor:
    """Write, looking at each of the first ``reads`` tokens and letting tensors grow."""
    told = torch.zeros(len(prompts), 0, device=prompts.device)
    text = prompts
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
    unfinished = set(range(len(prompts)))
    chances, state = model.read(prompts)
    for t in range(model.count):
        best, token = chances.max(1)
        told = torch.cat([told, best.masked_fill(ended, 0.0).unsqueeze(1)], dim=1)
        text = torch.cat([text, token.unsqueeze(1)], dim=1)
        ended = ended | (token == END)
        for i in sorted(unfinished) if t < reads else ():
            if token[i].item() == END:  # cause: tokens_read
                unfinished.discard(i)
        if not unfinished:
            break
        chances, state = model.read(text[:, -1:], state)
    missing = model.count - told.shape[1]
    return torch.nn.functional.pad(told, (0, missing))


class ReadsTokens(Training):
    """Reads each token as it comes; its places are the tokens of a text."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        reads = self.lab.share(model.count)
        model.write = lambda prompts: write_reading(model, reads, prompts)
        return model
