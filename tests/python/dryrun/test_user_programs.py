# SPDX-License-Identifier: BSD-3-Clause
"""Programs of many kinds run dry as on the CPU, and wait at the marked lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from .other_programs import OTHER_PROGRAMS
from .shared_run import Seen
from .training_programs import TRAINING_PROGRAMS

Program = Callable[[str], Any]
PROGRAMS: tuple[Program, ...] = TRAINING_PROGRAMS + OTHER_PROGRAMS

# What torch.func itself warns of, with or without a dry run.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")


def _results(program: Program, device: str) -> list[Any]:
    torch.manual_seed(0)
    found = tree_leaves(program(device))
    return [
        leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf
        for leaf in found
    ]


def _marked(program: Program) -> list[int]:
    lines, first = inspect.getsourcelines(program)
    return [
        n for n, line in enumerate(lines, first) if line.rstrip().endswith("# waits")
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_works_out_what_the_cpu_does_and_waits_at_the_marked_lines(
    program: Program, seen_all: Seen
) -> None:
    with seen_all.run.suspended():
        expected = _results(program, "cpu")
    torch.testing.assert_close(_results(program, "cuda"), expected)
    lines = {sync.line for sync in seen_all.syncs}
    here = {line for line in lines if line is None or line.file != __file__}
    assert {line.file for line in here} == {inspect.getfile(program)}
    assert sorted({line.line for line in here}) == _marked(program)
