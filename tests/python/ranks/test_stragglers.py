# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/stragglers/run.py: a published job, and jobs whose truth is made here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ..real_traces import ROOT

_SHARED = ROOT.parent / "shared" / "stragglers"
_DP, _STAGES, _MICROBATCHES, _STEPS = 2, 2, 4, 3
_FORWARD_S, _BACKWARD_S, _MESSAGE_S = 0.02, 0.04, 0.001

#: By data-parallel rank, stage, step and microbatch: how often as long its compute is.
Factor = Callable[[int, int, int, int], float]


def _run(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.stragglers.run", str(folder), name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _told(folder: Path, name: str) -> dict[str, Any]:
    done = _run(folder, name)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert isinstance(out, dict)
    return out


def _rows(factor: Factor) -> list[dict[str, Any]]:
    """Two pipelines of two stages, all forward and then all backward; the gradients of
    a stage are reduced, and clipped by a norm that all wait for."""
    rows: list[dict[str, Any]] = []

    def add(
        dp: int, stage: int, step: int, optype: str, begin: float, end: float, seq: int
    ) -> None:
        rows.append(
            {
                "dp_rank": dp,
                "stage": stage,
                "rank": dp * _STAGES + stage,
                "step": step,
                "optype": optype,
                "start_ts": begin,
                "duration": end - begin,
                "seq_id": seq,
                "mc": 0,
            }
        )

    for step in range(_STEPS):
        done: dict[int, list[float]] = {0: [], 1: []}
        for dp in range(_DP):
            clock = [0.001] * _STAGES
            orders = (
                ("forward", _FORWARD_S, (0, 1)),
                ("backward", _BACKWARD_S, (1, 0)),
            )
            for way, usual, (first, second) in orders:
                sent = []
                for micro in range(_MICROBATCHES):
                    begin = clock[first]
                    end = begin + usual * factor(dp, first, step, micro)
                    add(dp, first, step, f"{way}-compute", begin, end, micro)
                    clock[first] = end + _MESSAGE_S
                    add(dp, first, step, f"{way}-send", end, clock[first], micro)
                    sent.append(end)
                for micro, ready in enumerate(sent):
                    # Asked for as soon as there is nothing else to do.
                    begin = clock[second]
                    got = max(begin, ready) + _MESSAGE_S
                    add(dp, second, step, f"{way}-recv", begin, got, micro)
                    end = got + usual * factor(dp, second, step, micro)
                    add(dp, second, step, f"{way}-compute", got, end, micro)
                    clock[second] = end
            for stage in range(_STAGES):
                done[stage].append(clock[stage])
        clip = 0.0
        for stage, ends in done.items():
            reduced = max(ends) + 0.005
            clip = max(clip, reduced)
            for dp, begin in enumerate(ends):
                add(dp, stage, step, "grads-reduce-scatter", begin, reduced, 0)
        for stage, ends in done.items():
            begin = max(ends) + 0.005
            for dp in range(_DP):
                add(dp, stage, step, "optimizer-clip-main-grad", begin, clip + 0.002, 0)
    return rows


def _write(folder: Path, rows: list[dict[str, Any]]) -> None:
    pd.DataFrame(rows).to_parquet(folder / "trace-MADE.parquet")


def test_the_published_job() -> None:
    if not (_SHARED / "trace-ST.parquet").is_file():
        pytest.skip("not at hand")
    told = _told(_SHARED, "ST")
    assert told["slowdown"] == pytest.approx(told["published_slowdown"], rel=0.01)
    assert told["replay_error"] < 0.01
    assert [row["name"] for row in told["culprits"]["stages"]] == [3]
    assert told["culprits"]["ranks"] == []


def test_a_slow_worker_is_named(tmp_path: Path) -> None:
    _write(tmp_path, _rows(lambda dp, stage, step, micro: 2 if dp == stage == 1 else 1))
    told = _told(tmp_path, "MADE")
    assert told["replay_error"] < 0.01
    (rank,) = told["culprits"]["ranks"]
    assert rank["name"] == 3
    assert rank["share"] == pytest.approx(1, abs=0.3)


def test_where_all_are_alike_nobody_is(tmp_path: Path) -> None:
    _write(tmp_path, _rows(lambda dp, stage, step, micro: 1))
    told = _told(tmp_path, "MADE")
    assert told["slowdown"] == pytest.approx(1, abs=0.01)
    assert told["culprits"] == {"ranks": [], "stages": [], "op_kinds": []}


def test_where_sequences_differ_no_worker_is(tmp_path: Path) -> None:
    """Each has its long microbatch in turn, so that taking one rank's away leaves the
    others'."""
    _write(
        tmp_path,
        _rows(
            lambda dp, stage, step, micro: 3 if micro == (2 * dp + step) % 4 else 1,
        ),
    )
    told = _told(tmp_path, "MADE")
    assert told["slowdown"] > 1.02
    assert told["culprits"]["ranks"] == []
    assert told["culprits"]["op_kinds"]


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda rows: [{"rank": 0, "duration": 1.0}], "no column dp_rank"),
        (lambda rows: [row | {"duration": 0.0} for row in rows], "took any time"),
        (lambda rows: [*rows, rows[0] | {"stage": None}], "values are missing"),
    ],
    ids=["columns", "empty", "gaps"],
)
def test_other_files_are_refused(
    tmp_path: Path,
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
    says: str,
) -> None:
    _write(tmp_path, change(_rows(lambda dp, stage, step, micro: 1)))
    done = _run(tmp_path, "MADE")
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_parquet_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "trace-MADE.parquet").write_bytes(b"")
    assert "not a job that can be replayed" in _run(tmp_path, "MADE").stderr
    other = _run(tmp_path, "OTHER").stderr
    assert "no such file" in other
    assert "MADE" in other
    assert "Traceback" not in other


def test_unknown_operations_are_work(tmp_path: Path) -> None:
    rows = _rows(lambda dp, stage, step, micro: 1)
    renamed = {"forward-compute": "forward-of-tomorrow"}
    _write(
        tmp_path,
        [row | {"optype": renamed.get(row["optype"], row["optype"])} for row in rows],
    )
    assert _told(tmp_path, "MADE")["slowdown"] == pytest.approx(1, abs=0.01)
