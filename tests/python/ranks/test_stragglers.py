# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/stragglers: a published job, jobs whose truth is made here, and a delayed
rank of a real training."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.stragglers.made import Made, make, write
from benchmarks.stragglers.run import is_right

from ..conftest import python
from ..real_traces import ROOT

_SHARED = ROOT.parent / "shared" / "stragglers"


def _run(folder: Path, rows: Any = None, name: str = "MADE") -> Any:
    if rows is not None:
        rows.to_parquet(folder / f"trace-{name}.parquet")
    return python("-m", "benchmarks.stragglers.run", folder, name, cwd=ROOT)


def _told(*arguments: Any) -> dict[str, Any]:
    done = _run(*arguments)
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    return out


def test_the_published_job() -> None:
    if not (_SHARED / "trace-ST.parquet").is_file():
        pytest.skip("not available")
    told = _told(_SHARED, None, "ST")
    assert told["slowdown"] == pytest.approx(told["published_slowdown"], rel=0.01)
    assert told["replay_error"] < 0.01
    assert [row["name"] for row in told["culprits"]["stages"]] == [3]
    assert told["culprits"]["ranks"] == []


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


@pytest.fixture(scope="module")
def alike() -> pd.DataFrame:
    """A job whose ranks are all alike."""
    return make(_MADE["none"])[0].astype({"optype": str})


def test_operations_of_unknown_kinds_are_work(
    alike: pd.DataFrame, tmp_path: Path
) -> None:
    kinds = alike["optype"].replace("forward-compute", "forward-of-tomorrow")
    told = _told(tmp_path, alike.assign(optype=kinds))
    assert told["slowdown"] == pytest.approx(1, abs=0.01)
    assert told["culprits"] == {"ranks": [], "stages": [], "op_kinds": []}


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
        (lambda rows: rows[["rank", "duration"]], "no column dp_rank"),
        (lambda rows: rows.assign(duration=0.0), "took any time"),
        (lambda rows: rows.assign(stage=rows["stage"].shift()), "values are missing"),
    ],
    ids=["columns", "empty", "gaps"],
)
def test_other_files_are_refused(
    alike: pd.DataFrame, tmp_path: Path, change: Any, says: str
) -> None:
    done = _run(tmp_path, change(alike))
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
    path = {"PYTHONPATH": str(ROOT)}
    done = python(script, tmp_path / "job", env=os.environ | path, timeout=240)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["found_at"] in (1, 2), row["told"]
    # A busy machine may record a few calls out of order.
    assert row["apart"] <= 0.05 * row["joined"], row
