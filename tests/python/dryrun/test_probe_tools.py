# SPDX-License-Identifier: BSD-3-Clause
"""test_probe_tools.py: the page made of the probes, and their comparison with a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.dryrun import sync_table_on_gpu as tool

from .probe import Probe

pytestmark = pytest.mark.verify

ROOT = Path(__file__).resolve().parents[3]
HAS_GPU = torch.cuda.is_available()


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["--out", str(tmp_path / "out.json")]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("needs a GPU") and said.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.cuda
@pytest.mark.skipif(not HAS_GPU, reason="torch sees no GPU")
def test_the_table_is_right_on_this_gpu(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert tool.main(["--out", str(out)]) in (tool.RIGHT, tool.DIFFERS)
    assert json.loads(out.read_text("utf-8"))["differences"] == []


def event(cat: str, name: str, ts: float, correlation: int = 0) -> dict[str, Any]:
    args = {"correlation": correlation}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": 1.0, "args": args}


def test_waits_are_those_within_the_probe() -> None:
    events = [
        {"ph": "M", "name": "process_name"},
        {**event("user_annotation", tool.RANGE, 10), "dur": 10.0},
        event("gpu_user_annotation", tool.RANGE, 0),
        event("cuda_runtime", "cudaStreamSynchronize", 9),
        event("cuda_runtime", "cudaStreamSynchronize", 12),
        event("cuda_runtime", "cudaLaunchKernel", 13, 1),
        event("cuda_runtime", "cudaMemcpyAsync", 11, 2),
        event("gpu_memcpy", tool.PAGEABLE_TO_HOST, 30, 2),
        event("cuda_runtime", "cudaMemcpyAsync", 14, 3),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 31, 3),
        event("cuda_runtime", "cudaDeviceSynchronize", 25),
    ]
    assert tool.waits_of(events, tool.RANGE) == [
        tool.PAGEABLE_TO_HOST,
        "cudaStreamSynchronize",
    ]


def test_what_counts_as_a_difference() -> None:
    waits = Probe("a", "t.item()", "scalar", "item")
    goes_on = Probe("b", "t + 1", "", "async")
    fails = Probe("c", "x.numpy()", "", "numpy", raises="TypeError")
    assert tool.difference(waits, "", 1, []) == ""
    assert tool.difference(waits, "", 0, ["cudaStreamSynchronize"]) == ""
    assert tool.difference(waits, "", 0, []).startswith("said to wait")
    assert tool.difference(goes_on, "", 0, []) == ""
    assert tool.difference(goes_on, "", 2, []).startswith("said to not wait")
    assert tool.difference(fails, "TypeError", 0, []) == ""
    assert tool.difference(fails, "", 0, []) == "no error instead of TypeError"
    assert tool.difference(goes_on, "OSError", 0, []) == "OSError instead of none"
