# SPDX-License-Identifier: BSD-3-Clause
"""scripts.py: runs scripts that tests write (the fixture `script` of conftest.py)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from torchtraceap_dryrun.estimate.gpus import gpu
from torchtraceap_dryrun.outcome import Outcome
from torchtraceap_dryrun.script import child
from torchtraceap_dryrun.script.child import run_dry
from torchtraceap_dryrun.script.ended import Ended, Program

#: Writes a file of this text, by default prog.py, into the working folder.
Write = Callable[..., str]

#: Runs what follows BEGIN.
Dry = Callable[..., "tuple[Outcome, Ended]"]

# A wait in each of its steps, at line 7.
BEGIN = """\
import os, re, signal, sys, threading, time, torch
weight = torch.ones(3, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
def step():
    loss = (weight * 2).sum()
    loss.backward()
    loss.item()
    optimizer.step()
step()
"""
WAIT = 7

# What follows has its own `Ending`.
ENDING = """\
from torchtraceap_dryrun.script import ending
(ending,) = ending.endings
"""


def run(
    path: str, *arguments: str, max_seconds: float = 60.0, **of_program: Any
) -> tuple[Outcome, Ended]:
    """Run a script in a child of this process, which has loaded torch already."""
    program = Program(path, arguments, **of_program)
    record, ended = run_dry(program, max_seconds)
    return Outcome(record, gpu("H100")), ended


def waits(found: Outcome) -> list[tuple[int, int]]:
    return [(wait.line.line, wait.count) for wait in found.waits if wait.line]


def once_ready(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """Let the first wait for a program end as soon as that writes a file."""
    code, calls = child._code, iter([True])

    def waited(process: int, until: Callable[[], float]) -> int | None:
        if not next(calls, False):
            return code(process, until)
        while not os.path.exists("ready"):
            time.sleep(0.01)
        return then()

    monkeypatch.setattr(child, "_code", waited)
