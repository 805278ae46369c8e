# SPDX-License-Identifier: BSD-3-Clause
"""watched_project.py: somebody else's project, whose code is watched on the CPU."""

from __future__ import annotations

import pytest

from . import other_project

STEP = """
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())

def train_step(log=None):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if log is not None:
        log.append(loss.item())  # line 12
"""
HEAD = "import pytest, unittest\nfrom step import train_step\n"


def make(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Lay out the project, of which tests can import ``step``."""
    return other_project.lay_out(pytester, monkeypatch, step=STEP)


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    """Run tests of the project in this process; what they begin with is HEAD."""
    return other_project.run(
        project, HEAD + tests, "--strict-markers", *options, name="test_step"
    )
