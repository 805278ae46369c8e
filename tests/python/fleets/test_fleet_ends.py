# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet_ends.py: crashes, kills and full disks lose no trace and double none."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import ConfigError
from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.data.load import plan_load
from torchtraceap.fleets import data_set, local_pool, ray_pool, running, tasks

from ..conftest import Cli
from ..ranks.rank_folder import put
from . import poisoned
from .conftest import read, starved

# Here, or under Ray, which takes seconds to start a process.
WHERE = [None, pytest.param("local", marks=pytest.mark.verify)]


def poison(ray: str | None, patch: pytest.MonkeyPatch) -> None:
    """Have tasks end as poisoned.py does."""
    if ray is None:
        patch.setattr(local_pool, "__name__", poisoned.__name__)
    else:
        pytest.importorskip("ray")
        patch.setattr(ray_pool, "run_task", poisoned.run_task)
        patch.setattr(ray_pool, "_RETRIES", 1)


@pytest.mark.parametrize("moment", ["tables", "mark"])
def test_old_rows_stay_until_new_ones_are_there(
    moment: str, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the call that replaces them."""
    out = tmp_path / "out"
    torchtraceap.fleet(traces, out)
    before = {path for path in out.glob("*/*/*.parquet")}
    put(traces / "2026-09-14/train/trace.json.gz", starved(steps=7))
    parquet = pytest.importorskip("pyarrow.parquet")

    def full(*_: object, **__: object) -> None:
        seen = {path for path in out.glob("*/*/*.parquet")} - before
        assert all(path.read_bytes()[-4:] == b"PAR1" for path in seen)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        if moment == "tables":
            patch.setattr(parquet, "write_table", full)
        else:
            patch.setattr(data_set.DataSet, "_mark", full)
        with pytest.raises(data_set.NotWritten, match="No space left"):
            torchtraceap.fleet(traces, out)
    assert {path for path in out.glob("*/*/*.parquet")} == before
    assert sorted(row["steps"] for row in read(out)) == [0, 4, 4]
    assert torchtraceap.fleet(traces, out).done == 1
    assert sorted(row["steps"] for row in read(out)) == [0, 4, 7]
    listed = data_set.DataSet(str(out)).parts("traces")
    assert sorted(listed) == sorted(map(str, out.glob("traces/*/*.parquet")))


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_a_batch_of_which_a_file_is_damaged_is_done_again(
    how: str, traces: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    torchtraceap.fleet(traces, out)
    part = next(out.glob("findings/*/*.parquet"))
    part.unlink() if how == "gone" else os.truncate(part, 99)
    # One of them by itself does not hide that the others are lost.
    assert torchtraceap.fleet(traces / "2026-09-15/serve", out).done == 1
    assert torchtraceap.fleet(traces, out).done == 2
    assert torchtraceap.fleet(traces, out).done == 0
    assert len(read(out)) == 3 and len(read(out, "findings")) == 2


def test_files_of_others_and_an_unfinished_beginning_are_left(
    traces: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    put(out / "_new/fleet.json", b"{")  # As a kill leaves it.
    torchtraceap.fleet(traces, out)
    stray = put(out / "traces/_SUCCESS", b"")
    (out / "traces/day=2026-09-14/folder").mkdir()
    assert torchtraceap.fleet(traces, out).known == 3 and stray.exists()


@pytest.mark.parametrize("how", ["split", "joined"])
def test_ranks_of_a_job_that_changes_are_not_lost(
    how: str, slow_job: Path, tmp_path: Path
) -> None:
    """A rank is recorded again alone, or comes to a job of two."""
    folder, out = tmp_path / "runs", tmp_path / "out"
    *_, last = ranks = sorted(slow_job.iterdir())
    for rank in ranks[: 4 if how == "split" else 3]:
        put(folder / rank.name, rank.read_bytes())
    torchtraceap.fleet(folder, out)
    alone = starved(distributedInfo={"rank": 0, "world_size": 1})
    put(folder / last.name, alone if how == "split" else last.read_bytes())
    torchtraceap.fleet(folder, out)
    assert {Path(row["url"]).name for row in read(out)} == {one.name for one in ranks}
    assert torchtraceap.fleet(folder, out).done == 0


def test_crashes_leave_no_files_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in/good/x.json", starved())
    for number in range(7):
        put(tmp_path / f"in/run{number}/poison.json", starved())
    poison(None, monkeypatch)
    opened = len(os.listdir("/proc/self/fd"))
    most = 0

    def counted(*_: int) -> None:
        nonlocal most
        most = max(most, len(os.listdir("/proc/self/fd")) - opened)

    ran = torchtraceap.fleet(tmp_path / "in", tmp_path / "out", counted=counted)
    assert len(ran.failures) == 7 and most < 14


def test_what_may_be_gone_is_tried_again(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next calls, three in all; and it does not hold up other traces."""
    put(traces / "poison.json", starved())
    put(traces / "cut.json", starved()[:-200])
    for ok, wanted in ((False, [5, 1, 1, 0]), (True, [5, 1, 0])):
        out = tmp_path / f"out{ok}"
        for number, done in enumerate(wanted):
            with monkeypatch.context() as patch:
                if not (ok and number):
                    poison(None, patch)
                assert torchtraceap.fleet(traces, out, workers=2).done == done
            assert len(read(out)) == 5
    failed = [row["error_kind"] for row in read(out) if row["status"] == "failed"]
    assert failed == ["truncated"]


@pytest.mark.parametrize("ray", [None, pytest.param("local", marks=pytest.mark.verify)])
def test_children_that_cannot_start_end_the_call(
    ray: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        put(tmp_path / f"in/run{number}/poison.json", starved())
    poison(ray, monkeypatch)
    with pytest.raises(
        ConfigError, match=r"none of the first [89] traces .* their proc"
    ):
        torchtraceap.fleet(tmp_path / "in", tmp_path / "out", ray=ray, workers=2)
    assert len(read(tmp_path / "out")) in (8, 9)


def test_a_batch_ends_by_time_and_by_size(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the next answer is waited for."""
    plan: list[Any] = []
    added: list[int] = []
    monkeypatch.setattr(
        running, "run_local", lambda items, *_: plan.append(items) or answers()
    )
    add = data_set.DataSet.add
    monkeypatch.setattr(
        data_set.DataSet,
        "add",
        lambda self, done, old: added.append(len(done)) or add(self, done, old),
    )

    def answers() -> Any:
        one, two, three = (tasks.failed_task(item, "empty", "") for item in plan[0])
        yield one
        monkeypatch.setattr(running, "_BATCH_S", 0)
        yield None
        assert added == [1]
        yield None  # Nothing to write.
        assert added == [1]
        monkeypatch.setattr(running, "_BATCH_S", 99)
        yield two
        monkeypatch.setattr(running, "_BATCH_BYTES", 1)
        yield three
        assert added == [1, 2]

    torchtraceap.fleet(traces, tmp_path / "out")
    assert added == [1, 2]


def test_the_pool_says_that_nothing_came(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_pool, "_PATIENCE_S", 0.001)
    found = running.find_items([str(traces)]).items[:1]
    plan = tasks.FleetPlan(plan_load(progress=False), plan_analysis(detector="off"))
    first, *_, last = local_pool.run_local(found, plan, 1, 1 << 40)
    assert first is None and isinstance(last, tasks.Done)


@pytest.mark.parametrize("ray", WHERE)
def test_a_crash_costs_one_trace(
    ray: str | None, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(traces / "poison.json", starved())
    put(traces / "unlucky.json", starved())
    poison(ray, monkeypatch)
    ran = torchtraceap.fleet(traces, tmp_path / "out", ray=ray, workers=2)
    assert [one.kind for one in ran.failures] == ["crashed"]
    by_name = {Path(row["url"]).name: row["status"] for row in read(tmp_path / "out")}
    assert by_name["poison.json"] == "failed" and by_name["unlucky.json"] != "failed"
    assert len(read(tmp_path / "out")) == 5


def test_a_killed_run_is_resumed(traces: Path, tmp_path: Path) -> None:
    """Nothing is lost, and nothing there twice, whenever it is killed."""
    for number in range(40):
        put(traces / f"2026-09-16/more{number}x/trace.json", starved(day=2))
    out = tmp_path / "out"
    code = (
        "import sys, torchtraceap; from torchtraceap.fleets import running; "
        "running._BATCH = 2; torchtraceap.fleet(sys.argv[1], sys.argv[2], workers=2)"
    )
    kills = 0
    for moment in (2, 9, 15):
        with subprocess.Popen([sys.executable, "-c", code, traces, out]) as run:
            while run.poll() is None:
                if len(list(out.glob("_batches/*.json"))) >= moment:
                    run.send_signal(signal.SIGKILL)
                    kills += 1
                time.sleep(0.002)
    assert kills >= 2
    # As it is if the kill falls between the tables of a batch and the batch.
    part = next(out.glob("traces/*/*.parquet"))
    shutil.copyfile(part, part.with_name("000999.parquet"))
    (out / "_batches/000999.json.new").write_text("{")
    ran = torchtraceap.fleet(traces, out)
    assert ran.found == 43 and 0 < ran.done < 43
    assert max(Counter(row["url"] for row in read(out)).values()) == 1
    assert len(read(out)) == 43
    assert not list(out.glob("*/*999*"))
    known = {row["trace"] for row in read(out)}
    counts = Counter(row["trace"] for row in read(out, "steps"))
    assert set(counts.values()) == {4} and counts.keys() <= known


def test_what_was_done_before_the_disk_is_full_is_kept(
    traces: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(running, "_BATCH", 1)
    write, left = parquet.write_table, 7

    def full(*arguments: Any, **options: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(*arguments, **options)

    monkeypatch.setattr(parquet, "write_table", full)
    done = cli("fleet", traces, "--out", tmp_path / "out", "--workers", 1)
    assert done.code == 2 and "No space left on device. Make room" in done.err
    assert len(read(tmp_path / "out")) == 1
    left = 1000
    said = cli("fleet", traces, "--out", tmp_path / "out").fine()
    assert said.startswith("2 traces and jobs analyzed") and "1 was done" in said
    assert len(read(tmp_path / "out")) == 3


def test_other_errors_of_the_system_are_not_of_the_folder(
    traces: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(running, "run_local", full)
    done = cli("fleet", traces, "--out", tmp_path / "out")
    assert done.code == 2 and "Too many open files" in done.err
    assert "cannot write" not in done.err


def test_memory_bounds_what_runs_at_a_time(traces: Path, tmp_path: Path) -> None:
    """What does not fit at all runs alone."""
    waiting = local_pool._Waiting(
        running.find_items([str(traces)]).items, memory=300 << 20
    )
    first, second = waiting.take(), waiting.take()
    assert first is not None and second is not None
    assert not any(map(waiting._fits, waiting._items.values()))
    waiting.done(first)
    assert waiting.take() is not None
    ran = torchtraceap.fleet(traces, tmp_path / "out", memory=1, workers=2)
    assert ran.done == 3 and not ran.failures


def test_one_process_writes_at_a_time(traces: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    torchtraceap.fleet(traces, out)
    refused = pytest.raises(ConfigError, match="another process writes there")
    with data_set.DataSet(out).writing(), refused:
        torchtraceap.fleet(traces, out)
