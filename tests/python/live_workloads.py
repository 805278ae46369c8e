# SPDX-License-Identifier: BSD-3-Clause
"""live_workloads.py: training steps with one mistake each, beside the same without it.

Each function is a whole step of a small program. What is slow in it is slow by waiting
or by the number of calls, never by the speed of the machine.
"""

from __future__ import annotations

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 6


class Samples(Dataset[torch.Tensor]):
    """Sixty-four samples; with a delay, as if each were read from a disk."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.kept = torch.randn(64, 32)

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.delay_s:
            time.sleep(self.delay_s)
        return self.kept[index]


def train_from_slow_loader() -> None:
    weight = torch.randn(32, 32)
    for batch in DataLoader(Samples(0.004), batch_size=8, num_workers=0):
        (batch @ weight).relu().sum()


def train_from_cached_loader() -> None:
    weight = torch.randn(256, 256)
    samples = torch.randn(64, 256)
    for begin in range(0, 64, 8):
        batch = samples[begin : begin + 8]
        for _ in range(20):
            batch = (batch @ weight).relu() / 16


def pick_words(count: int) -> int:
    """Work in Python alone, as a tokenizer would."""
    total = 0
    for i in range(count):
        total += (i * 2654435761) % 97
    return total


def train_with_python_between() -> None:
    weight = torch.randn(64, 64)
    for _ in range(STEPS):
        pick_words(100_000)
        (weight @ weight).relu().sum()


def train_with_python_before() -> None:
    weight = torch.randn(512, 512)
    for _ in range(4 * STEPS):
        (weight @ weight).relu().sum()


def train_with_casts() -> None:
    weight = torch.randn(1024, 1024)
    for _ in range(STEPS):
        for _ in range(8):
            half = weight.to(torch.bfloat16)
            weight = half.to(torch.float32)
        weight.relu()


def train_without_casts() -> None:
    weight = torch.randn(1024, 1024)
    for _ in range(STEPS):
        for _ in range(8):
            weight.relu_()


def score_one_by_one() -> None:
    table = torch.randn(256, 64)
    weight = torch.randn(64)
    for _ in range(STEPS):
        scores = [(table[i] * weight).sum() for i in range(256)]
        torch.stack(scores)


def score_at_once() -> None:
    table = torch.randn(256, 64)
    weight = torch.randn(64)
    for _ in range(STEPS):
        for _ in range(20):
            table @ weight


def parameters() -> list[nn.Parameter]:
    """Return many small parameters that have gradients."""
    out = [nn.Parameter(torch.randn(16, 16)) for _ in range(60)]
    for parameter in out:
        parameter.grad = torch.randn(16, 16)
    return out


def update_each_tensor() -> None:
    optimizer = torch.optim.Adam(parameters(), foreach=False, fused=False)
    for _ in range(STEPS):
        optimizer.step()


def update_all_at_once() -> None:
    optimizer = torch.optim.Adam(parameters(), fused=True)
    for _ in range(STEPS):
        optimizer.step()
