# SPDX-License-Identifier: BSD-3-Clause
"""Programs of many kinds run dry as on the CPU, and wait at the marked lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

import torchtraceap

from .other_programs import OTHER_PROGRAMS
from .training_programs import TRAINING_PROGRAMS

Program = Callable[[str], Any]
PROGRAMS: tuple[Program, ...] = TRAINING_PROGRAMS + OTHER_PROGRAMS

# What torch.func itself warns of, with or without a dry run.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def program(request: pytest.FixtureRequest) -> Program:
    return request.param


def _results(program: Program, device: str) -> list[Any]:
    torch.manual_seed(0)
    found = tree_leaves(program(device))
    return [
        leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf
        for leaf in found
    ]


def test_works_out_what_the_cpu_does(program: Program) -> None:
    expected = _results(program, "cpu")
    with torchtraceap.dry_run(values="all"):
        found = _results(program, "cuda")
    torch.testing.assert_close(found, expected)


def _marked(program: Program) -> list[int]:
    lines, first = inspect.getsourcelines(program)
    return [
        n for n, line in enumerate(lines, first) if line.rstrip().endswith("# waits")
    ]


def test_waits_at_the_marked_lines_and_nowhere_else(program: Program) -> None:
    torch.manual_seed(0)
    with torchtraceap.dry_run() as run:
        program("cuda")
    found = set()
    for wait in run.waits:
        assert wait.line is not None and wait.line.file == inspect.getfile(program), (
            wait
        )
        found.add(wait.line.line)
    assert sorted(found) == _marked(program)
