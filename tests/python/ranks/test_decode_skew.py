# SPDX-License-Identifier: BSD-3-Clause
"""test_decode_skew.py: ranks that wait for each other in decode steps, in each form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import torchtraceap

from ..conftest import Cli
from ..trace_builder import Event, annotation, call, kernel, trace_of

STEPS, LAYERS = 12, 8


def decode_rank(rank: int, late: Callable[[int], int], late_us: float) -> bytes:
    """A trace of one of two tensor-parallel ranks: each decode step is one graph of
    eight products of 100 us, each followed by an all-reduce of 20 us after the last
    rank's arrival. The step's late rank launches its graph so much later."""
    events: list[Event] = []
    for step in range(STEPS):
        at, number = 1_000 + 3_000 * step, step + 1
        begin = at + 160 + (late_us if late(step) == rank else 0)
        events.append(annotation("execute_context_0(0)_generation_32(32)", at, 1_500))
        events.append(call("cudaGraphLaunch", begin - 60, 50, number))
        end = at + 160 + late_us
        for layer in range(LAYERS):
            begin = begin if layer == 0 else end
            end += 120
            name = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(RankData*)"
            events.append(kernel(begin, 100, "gemm", correlation=number))
            arrived = begin + 100
            events.append(kernel(arrived, end - arrived, name, correlation=number))
    info = {"rank": rank, "world_size": 2, "backend": "nccl"}
    return trace_of(*events, distributedInfo=info, host_name="node0")


@pytest.fixture
def runs(tmp_path: Path) -> Callable[..., Path]:
    """Makes the folder of a job."""

    def made(late: Callable[[int], int], late_us: float) -> Path:
        folder = tmp_path / "runs"
        folder.mkdir()
        for rank in range(2):
            data = decode_rank(rank, late, late_us)
            (folder / f"rank{rank}.json").write_bytes(data)
        return folder

    return made


# Each waits 200 us, of a step of 1,160 us; the late rank's has 960 us.
LATE = (
    "Rank 1 is late in decode steps: it comes last in 10 of 10, and the other waits "
    "200 µs in each, 9.4 % of the steps' device time."
)


def test_the_late_rank_is_named_in_each_form(
    runs: Callable[..., Path], tmp_path: Path, cli: Cli
) -> None:
    folder = runs(lambda step: 1, 200)
    page, form = tmp_path / "job.html", tmp_path / "job.json"
    out = cli("analyze", folder, "--html", page, "--json", form).fine()
    assert LATE in " ".join(out.split()) and "No rank is late" not in out
    assert "late in decode steps  rank 1" in out
    assert LATE in page.read_text().replace("&#39;", "'")
    (row,) = json.loads(form.read_text())["decode_skew"]
    assert (row["rank"], row["last"], row["steps"]) == (1, 10, 10)
    assert (row["waited_us"], row["step_wait_us"]) == (2_000, 200)
    full = " ".join(cli("analyze", folder, "--full").fine().split())
    assert LATE in full and "No stragglers" not in full


def test_skew_without_a_culprit(runs: Callable[..., Path]) -> None:
    job = torchtraceap.analyze([runs(lambda step: step % 2, 200)])
    assert "none comes last in most of the 10" in " ".join(str(job).split())


def test_a_named_rank_is_not_named_twice(runs: Callable[..., Path]) -> None:
    job = torchtraceap.analyze([runs(lambda step: 1, 900)])
    assert job.answer.verdict == "ranks" and job.late_ranks[0].rank == 1
    assert job.decode_skew[0].rank == 1
    assert "late in decode steps" not in str(job)
