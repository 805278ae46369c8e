# SPDX-License-Identifier: BSD-3-Clause
"""dry_project.py: somebody else's project, whose tests run where there is no GPU."""

from __future__ import annotations

import pytest
import torch

from . import other_project

TRAIN = """
import torch

def device():
    return "cuda" if torch.cuda.is_available() else "cpu"

def build():
    model = torch.nn.Linear(64, 64).to(device())
    return model, torch.optim.AdamW(model.parameters())

def step(model, optimizer, log=None):
    loss = model(torch.randn(8, 64, device=device())).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if log is not None:
        log.append(loss.item())  # line 16
"""
HEAD = """
import pytest, unittest, torch, torchtraceap
import train

def on_gpu():
    return torch.cuda.is_available()

@pytest.fixture
def built():
    return train.build()

"""
LINE = "train.py:16"


def make(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Lay out the project, of which tests can import ``train``."""
    return other_project.lay_out(pytester, monkeypatch, train=TRAIN)


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    """Run tests of the project in this process, and see that all is as before."""
    result = other_project.run(project, HEAD + tests, *options)
    assert not torch.cuda.is_available(), "a dry run is left behind"
    return result
