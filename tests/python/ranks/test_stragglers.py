# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/stragglers: a published job, jobs whose truth is made here, and a delayed
rank of a real training."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.stragglers.made import Made, make, write
from benchmarks.stragglers.run import is_right

from ..real_traces import ROOT

_SHARED = ROOT.parent / "shared" / "stragglers"
_DP, _STAGES, _MICROBATCHES, _STEPS = 2, 2, 4, 3
_FORWARD_S, _BACKWARD_S, _MESSAGE_S = 0.02, 0.04, 0.001

#: By data-parallel rank, stage, step and microbatch: how often as long its compute is.
Factor = Callable[[int, int, int, int], float]


def _run(folder: Path, rows: Any = None, name: str = "MADE") -> Any:
    if rows is not None:
        pd.DataFrame(rows).to_parquet(folder / f"trace-{name}.parquet")
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.stragglers.run", str(folder), name],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def _told(*arguments: Any) -> dict[str, Any]:
    done = _run(*arguments)
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
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


ALIKE = _rows(lambda dp, stage, step, micro: 1)


def test_the_published_job() -> None:
    if not (_SHARED / "trace-ST.parquet").is_file():
        pytest.skip("not available")
    told = _told(_SHARED, None, "ST")
    assert told["slowdown"] == pytest.approx(told["published_slowdown"], rel=0.01)
    assert told["replay_error"] < 0.01
    assert [row["name"] for row in told["culprits"]["stages"]] == [3]
    assert told["culprits"]["ranks"] == []


def test_a_slow_worker_is_named(tmp_path: Path) -> None:
    rows = _rows(lambda dp, stage, step, micro: 2 if dp == stage == 1 else 1)
    told = _told(tmp_path, rows)
    assert told["replay_error"] < 0.01
    (rank,) = told["culprits"]["ranks"]
    assert rank["name"] == 3 and rank["share"] == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("forward", ["forward-compute", "forward-of-tomorrow"])
def test_where_all_are_alike_nobody_is(forward: str, tmp_path: Path) -> None:
    """Also where operations are of unknown kinds: they are work."""
    names = {"forward-compute": forward}
    told = _told(
        tmp_path,
        [row | {"optype": names.get(row["optype"], row["optype"])} for row in ALIKE],
    )
    assert told["slowdown"] == pytest.approx(1, abs=0.01)
    assert told["culprits"] == {"ranks": [], "stages": [], "op_kinds": []}


def test_where_sequences_differ_no_worker_is(tmp_path: Path) -> None:
    """Each has its long microbatch in turn, so that taking one rank's away leaves the
    others'."""
    told = _told(
        tmp_path,
        _rows(lambda dp, stage, step, micro: 3 if micro == (2 * dp + step) % 4 else 1),
    )
    assert told["slowdown"] > 1.02
    assert told["culprits"]["ranks"] == []
    assert told["culprits"]["op_kinds"]


# Consecutive operations that overlap by up to 50 us, batches of messages, messages in
# flight, times as float32: the truth is another run of the scheduler.
_MADE = {
    "none": Made("8-none", dp=4, pp=2),
    "worker": Made("8-worker", dp=2, pp=4, slow="worker", factor=2.3),
    "stage": Made("16-stage", dp=2, pp=4, tp=2, slow="stage", factor=1.8),
    "gpipe": Made("16-gpipe", dp=8, pp=2, schedule="gpipe", slow="workers", factor=1.7),
    "in flight": Made("16-flight", dp=4, pp=4, chunks=2, schedule="interleaved",
                      slow="stage", factor=1.8),
    "in turn": Made("16-turns", dp=8, pp=2, steps=4, slow="alternating", factor=2.0),
    "sequences": Made("16-sequences", dp=8, pp=2, slow="sequences", factor=1.5),
    "one pipeline": Made("8-pipeline", dp=1, pp=8, slow="worker", factor=2.0),
}  # fmt: skip


@pytest.mark.parametrize("job", _MADE.values(), ids=_MADE)
def test_jobs_made_by_a_scheduler(job: Made, tmp_path: Path) -> None:
    write(job, tmp_path)
    told = _told(tmp_path, None, job.name)
    assert told["slowdown"] == pytest.approx(told["published_slowdown"], rel=0.01)
    assert told["replay_error"] < 0.01
    assert is_right(told), (told["published"], told["culprits"])
    assert (told["slowdown"] > 1.1) == (job.slow != "none")


def test_messages_are_paired_by_their_microbatch(tmp_path: Path) -> None:
    """A recorder may also write messages that were never sent: here what the first
    chunk of the model would get, so that numbers of messages differ by rank."""
    table, truth = make(_MADE["in flight"])
    table = table.reset_index(drop=True)
    rows = [table]
    for _, own in table[table["stage"] == 0].groupby(["rank", "step"]):
        computes = own[own["optype"] == "forward-compute"].sort_values("start_ts")
        got = own[own["optype"] == "forward-recv"].sort_values("seq_id")
        first = (computes["mc"] == 0).to_numpy()
        table.loc[got.index, "seq_id"] = (~first).nonzero()[0].astype("int32")
        unsent = computes[first].copy()
        unsent["seq_id"] = first.nonzero()[0].astype("int32")
        rows.append(unsent.assign(optype="forward-recv", duration=1e-5, mc=-1))
    told = _told(tmp_path, pd.concat(rows))
    assert told["slowdown"] == pytest.approx(truth.slowdown, rel=0.01)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda rows: [{"rank": 0, "duration": 1.0}], "no column dp_rank"),
        (lambda rows: [row | {"duration": 0.0} for row in rows], "took any time"),
        (lambda rows: [*rows, rows[0] | {"stage": None}], "values are missing"),
    ],
    ids=["columns", "empty", "gaps"],
)
def test_other_files_are_refused(tmp_path: Path, change: Any, says: str) -> None:
    done = _run(tmp_path, change(ALIKE))
    assert done.returncode == 1
    assert says in done.stderr and "Traceback" not in done.stderr


def test_what_is_no_parquet_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "trace-MADE.parquet").write_bytes(b"")
    assert "not a job that can be replayed" in _run(tmp_path).stderr
    other = _run(tmp_path, None, "OTHER").stderr
    assert "no such file" in other and "MADE" in other and "Traceback" not in other


# --- A delayed rank of a real training ------------------------------------------------


_HIDDEN = """
import sys, json
from pathlib import Path
from benchmarks.stragglers.hidden import record, score
from benchmarks.stragglers.hidden_program import Case

if __name__ == "__main__":
    case = Case(
        seed=1, ranks=2, slow_rank=1, place="host work", delay_ms=25, width=64,
        depth=3, bucket_mb=0.05, accumulation=1, broadcast_buffers=True,
    )
    folder = Path(sys.argv[1])
    record(case, folder)
    print(json.dumps(score(case, folder)))
"""


@pytest.mark.verify  # half a minute on a busy machine
@pytest.mark.skipif(sys.platform != "linux", reason="gloo over the loopback of Linux")
def test_a_delayed_rank_is_found(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "hidden_once.py"
    script.write_text(_HIDDEN)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "job")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["found_at"] in (1, 2), row["told"]
    assert row["apart"] == 0
