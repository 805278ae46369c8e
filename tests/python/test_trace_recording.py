# SPDX-License-Identifier: BSD-3-Clause
"""test_trace_recording.py: the fixture `trace_check` of code that it records."""

from __future__ import annotations

import importlib

import pytest

from .other_project import lay_out, run

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip("these record a run without a GPU", allow_module_level=True)

STEP = """
import torch
model = torch.nn.Linear(4, 1)

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        torch.linalg.svd(torch.randn(120, 120))
        return torch.randn(4)

def batches():
    return torch.utils.data.DataLoader(Slow(), batch_size=2)

def train_step(batch):
    model(batch).sum().backward()
"""


@pytest.fixture
def live(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # Imports inside of what is recorded would be what it finds.
    importlib.import_module("torch.utils.data")
    return lay_out(pytester, monkeypatch, columns=250, step=STEP)


def test_a_block_is_recorded_after_its_warm_up(live: pytest.Pytester) -> None:
    result = run(
        live,
        """
from step import *

def test_live(trace_check):
    with trace_check(warmup=2) as check:
        for batch in batches():
            train_step(batch)
            check.step()
    steps = [step.number for step in check.report.steps]
    assert steps == [2, 3], steps
    check.no("graph_break")
    check.no("dataloader_bound")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            # The path is whole if a profiler ran in this process before.
            "*test_it.py:7: dataloader_bound ×*, *[[]trace_check[]]",
            'passed trace_check no("graph_break") [[]recorded without a GPU[]]',
            "Recorded without a GPU: the times are those of the CPU's own work*",
        ]
    )


def test_a_step_that_is_only_begun_falsifies_no_median(live: pytest.Pytester) -> None:
    result = run(
        live,
        """
import time
from step import *

def test_live(trace_check):
    with trace_check() as check:
        time.sleep(0.1)
        train_step(torch.ones(2, 4))
        check.step()
    check.budget({"max_median_step_us": 80000})
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*max_median_step_us = 80000*"])


def test_without_a_gpu_what_needs_one_is_skipped(live: pytest.Pytester) -> None:
    result = run(
        live,
        """
from step import *

def test_live(trace_check):
    with trace_check() as check:
        train_step(torch.ones(2, 4))
    check.no("graph_break")
    check.no("sync_stall")
    check.max_kernels_per_step(10)
""",
        "-rs",
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            '*::test_live: trace_check no("sync_stall"); *max_kernels_per_step(10)',
            "SKIPPED [[]1[]] test_it.py:3: *sync_stall* cannot be told: *",
        ]
    )


def test_mistakes_around_blocks_are_named(live: pytest.Pytester) -> None:
    result = run(
        live,
        """
from step import *

def test_too_early(trace_check):
    with trace_check() as check:
        check.no("graph_break")

def test_no_block(trace_check):
    trace_check().no("graph_break")

def test_no_steps(trace_check):
    with trace_check(warmup=2):
        train_step(torch.ones(2, 4))

def test_another_profiler(trace_check):
    with trace_check() as check:
        with torch.profiler.profile():
            train_step(torch.ones(2, 4))

def test_no_check(trace_check):
    with trace_check():
        train_step(torch.ones(2, 4))

def test_own(trace_check):
    with trace_check():
        raise KeyError("own")

def test_again(trace_check):
    with trace_check() as check:
        train_step(torch.ones(2, 4))
    check.no("graph_break")
""",
    )
    result.assert_outcomes(failed=6, passed=1)
    result.stdout.fnmatch_lines(
        [
            "E *there is no recording to check yet: record one with *",
            "E *there is no recording to check yet: record one with *",
            "E *nothing was recorded: the block ended 2 calls of step() before *",
            "E *nothing was recorded: the code under test uses torch's profiler *",
            'nothing was checked: add check.no("..."), or another, to the block *',
            "E *KeyError: 'own'",
        ]
    )


def test_a_limit_that_is_no_number_is_refused(live: pytest.Pytester) -> None:
    result = run(
        live,
        """
from step import *

def test_live(trace_check):
    with trace_check() as check:
        train_step(torch.ones(2, 4))
    check.min_busy("a")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *ValueError: min_busy(...) must be a number, but*"])
