# SPDX-License-Identifier: BSD-3-Clause
"""small_training.py: a few steps of a small model, on the GPU of a dry run if there is
one, under a check that counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

MOVE = ["to"]  # The model's way to the GPU, once, is not what these are about.


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def train(steps: int, after: Callable[[Any], object] = lambda loss: None) -> Any:
    """Yields after each step of a small model."""
    model = torch.nn.Linear(64, 64).to(device())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(8, 64, device=device())).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        after(loss)
        yield


def run(check: Any, *args: Any) -> None:
    for _ in train(*args):
        check.step()
