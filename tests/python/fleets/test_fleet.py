# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet.py: any number of traces become one data set, each of them once."""

from __future__ import annotations

import errno
import json
import os
import re
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
from torchtraceap.fleets.rows import TABLES, schemas

from ..conftest import Cli
from ..pages import page, section
from ..ranks.rank_folder import put
from . import poisoned
from .conftest import Rows, starved


def read(out: Path, table: str = "traces") -> list[dict[str, Any]]:
    import pyarrow.dataset as ds

    files = ds.dataset(out / table, partitioning="hive")
    return list(files.to_table().to_pylist())


def test_a_folder_becomes_tables(traces: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out"
    said = cli("fleet", traces, "--out", out).fine()
    assert said.startswith("3 traces and jobs analyzed") and f"Results: {out}" in said
    by_url = {row["url"].removeprefix(f"{traces}/"): row for row in read(out)}
    one = by_url["2026-09-15/train/trace.json.gz"]
    report = torchtraceap.analyze(traces / "2026-09-15/train/trace.json.gz")
    assert one["program"] == "train" and one["commit"] == "bbb2222"
    assert (str(one["time"])[:10], one["time_from"]) == ("2026-09-15", "trace")
    assert one["day"] == "2026-09-15" and one["status"] == report.quality.verdict
    assert (one["steps"], one["step_us"]) == (4, 10_000)
    assert one["device_us"] == report.trace.device_time_us
    assert by_url["2026-09-15/serve/trace.json"]["time_from"] == "name"
    found = [row for row in read(out, "findings") if row["trace"] == one["trace"]]
    assert [row["id"] for row in found] == [f.id for f in report.findings]
    assert [row["wasted_us"] for row in found] == [f.wasted_us for f in report.findings]
    for table in ("windows", "steps", "kernels"):
        own = [row for row in read(out, table) if row["trace"] == one["trace"]]
        assert len(own) == len(getattr(report, table)) > 0


def test_pandas_and_duckdb_read_it(traces: Path, tmp_path: Path) -> None:
    pandas, duckdb = pytest.importorskip("pandas"), pytest.importorskip("duckdb")
    torchtraceap.fleet(traces, tmp_path / "out")
    frame = pandas.read_parquet(tmp_path / "out/traces")
    assert Counter(frame.program) == {"train": 2, "serve": 1}
    files = f"{tmp_path}/out/findings/*/*.parquet"
    query = f"SELECT day, sum(wasted_us) FROM '{files}' GROUP BY day ORDER BY day"
    assert [str(day) for day, _ in duckdb.sql(query).fetchall()] == [
        "2026-09-14",
        "2026-09-15",
    ]


def test_ranks_become_a_job(slow_job: Path, tmp_path: Path) -> None:
    ran = torchtraceap.fleet(slow_job, tmp_path / "out")
    job = torchtraceap.analyze([slow_job])
    (row,) = read(tmp_path / "out", "jobs")
    assert (ran.found, row["ranks"]) == (1, 4)
    wanted = (job.facts.culprit, job.facts.slowdown)
    assert (row["culprit"], row["slowdown"]) == wanted
    traces = read(tmp_path / "out")
    assert {one["rank"] for one in traces} == {0, 1, 2, 3}
    assert {one["job"] for one in traces} == {row["job"]}


def test_ranks_beside_other_traces_become_a_job(slow_job: Path, tmp_path: Path) -> None:
    """In one folder with a trace of something else, as CI uploads them."""
    folder = tmp_path / "flat"
    for rank, path in enumerate(sorted(slow_job.iterdir())):
        put(folder / f"train_rank{rank}.json", path.read_bytes())
    put(folder / "serve.json", starved())
    ran = torchtraceap.fleet(folder, tmp_path / "out")
    assert ran.found == 2
    assert [row["program"] for row in read(tmp_path / "out", "jobs")] == ["train"]


def test_a_second_call_does_what_is_missing(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    torchtraceap.fleet(traces, out)
    before = read(out)
    assert torchtraceap.fleet(traces, out).done == 0
    put(traces / "2026-09-16/train/trace.json.gz", starved(day=2))
    put(traces / "2026-09-14/train/trace.json.gz", starved(steps=7))
    ran = torchtraceap.fleet(traces, out)
    assert (ran.found, ran.known, ran.done) == (4, 2, 2)
    after = read(out)
    steps = [row["steps"] for row in sorted(after, key=lambda row: row["url"])]
    assert steps == [7, 0, 4, 4] and len(before) == 3
    found = Counter(row["trace"] for row in read(out, "findings"))
    assert max(found.values()) == 1 and len(found) == 3
    # Rows of files that are gone stay, and results are not traces.
    torchtraceap.fleet(traces, traces / "results")
    assert torchtraceap.fleet(traces, traces / "results").others == 0
    (traces / "2026-09-15/serve/trace.json").unlink()
    assert torchtraceap.fleet(traces, out).known == 3
    assert len(read(out)) == 4


def test_a_trace_that_is_of_a_job_now_is_there_once(
    slow_job: Path, tmp_path: Path
) -> None:
    first, *rest = sorted(slow_job.iterdir())
    put(tmp_path / "runs" / first.name, first.read_bytes())
    torchtraceap.fleet(tmp_path / "runs", tmp_path / "out")
    for path in rest:
        put(tmp_path / "runs" / path.name, path.read_bytes())
    torchtraceap.fleet(tmp_path / "runs", tmp_path / "out")
    assert len(read(tmp_path / "out")) == 4
    assert len(read(tmp_path / "out", "jobs")) == 1


def test_a_rank_that_is_named_alone_leaves_its_job(
    slow_job: Path, tmp_path: Path
) -> None:
    out, rank = tmp_path / "out", min(slow_job.iterdir())
    torchtraceap.fleet(slow_job, out)
    for stamp in (None, (1, 1)):  # As it was, and changed.
        if stamp:
            os.utime(rank, stamp)
        ran = torchtraceap.fleet(rank, out, retry_failed=True)
        assert (ran.known, ran.done) == (1, 0)
        assert len(read(out)) == 4 and len(read(out, "jobs")) == 1
    assert torchtraceap.fleet(slow_job, out).done == 1
    assert len(read(out)) == 4 and len(read(out, "jobs")) == 1


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
                    patch.setattr(local_pool, "__name__", poisoned.__name__)
                assert torchtraceap.fleet(traces, out, workers=2).done == done
            assert len(read(out)) == 5
    failed = [row["error_kind"] for row in read(out) if row["status"] == "failed"]
    assert failed == ["truncated"]


def test_children_that_cannot_start_end_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        put(tmp_path / f"in/run{number}/poison.json", starved())
    monkeypatch.setattr(local_pool, "__name__", poisoned.__name__)
    with pytest.raises(ConfigError, match=r"first [89] traces all crashed"):
        torchtraceap.fleet(tmp_path / "in", tmp_path / "out", workers=2)
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


def test_links_to_nowhere_are_named(traces: Path, tmp_path: Path, cli: Cli) -> None:
    (traces / "loop.json").symlink_to(traces / "loop.json")
    (traces / "link.json").symlink_to("nowhere.json")
    done = cli("fleet", traces, "--out", tmp_path / "out")
    assert done.code == 0 and len(read(tmp_path / "out")) == 3
    assert "2 files and folders left out, without rows" in done.err
    assert f"{traces}/link.json: " in done.err


def test_a_call_that_does_nothing_settles_nothing(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(torchtraceap.TraceError):
        torchtraceap.fleet(tmp_path / "nowhere", out, recover=True)
    assert torchtraceap.fleet(traces, out).done == 3


def test_a_trace_that_fails_is_a_row(traces: Path, tmp_path: Path, cli: Cli) -> None:
    cut = put(traces / "cut.json", starved()[:-200])
    put(traces / "package.json", b'{"name": "no trace"}')
    for number in range(11):
        put(traces / f"empty{number}.json", b"")
    put(traces / os.fsdecode(b"odd\xff\n.json"), starved())
    os.utime(traces / "empty3.json", (1e15, 1e15))  # No year that Python knows.
    out = tmp_path / "out"
    done = cli("fleet", traces, "--out", out)
    assert done.code == 2 and "1 file left out" in done.out
    lines = done.err.splitlines()
    assert len(lines) == 11 and "and 2 more. 12 traces failed" in lines[-1]
    by_url = {row["url"]: row for row in read(out)}
    assert by_url[str(cut)]["status"] == "failed"
    assert by_url[str(cut)]["error_kind"] == "truncated"
    assert str(cut) in by_url[str(cut)]["error"]
    assert len(by_url) == 16
    assert not list(out.glob("_new/*"))
    # It is done, until the file changes or is to be tried again.
    assert cli("fleet", traces, "--out", out).code == 0
    assert torchtraceap.fleet(traces, out, recover=False).known == 16
    assert cli("fleet", traces, "--out", out, "--retry-failed").code == 2
    assert len(read(out)) == 16


@pytest.mark.parametrize("ray", [None, "local"])
def test_a_crash_costs_one_trace(
    ray: str | None, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(traces / "poison.json", starved())
    put(traces / "unlucky.json", starved())
    if ray is None:
        monkeypatch.setattr(local_pool, "__name__", poisoned.__name__)
    else:
        pytest.importorskip("ray")
        monkeypatch.setattr(ray_pool, "run_task", poisoned.run_task)
    ran = torchtraceap.fleet(traces, tmp_path / "out", ray=ray, workers=2)
    assert [one.kind for one in ran.failures] == ["crashed"]
    by_name = {Path(row["url"]).name: row["status"] for row in read(tmp_path / "out")}
    assert by_name["poison.json"] == "failed" and by_name["unlucky.json"] != "failed"
    assert len(read(tmp_path / "out")) == 5


@pytest.mark.verify
def test_ray_gives_the_same_rows(
    traces: Path, slow_job: Path, tmp_path: Path, rows: Rows
) -> None:
    pytest.importorskip("ray")
    put(traces / "empty.json", b"")
    sources = [traces, slow_job]
    for name, ray in (("here", None), ("ray", "local")):
        torchtraceap.fleet(sources, tmp_path / name, ray=ray, workers=2)
    for table in TABLES:
        here, there = (rows(tmp_path / name, table) for name in ("here", "ray"))
        assert here == there and here, table


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
    assert done.code == 2 and "No space left on device. Free space" in done.err
    assert len(read(tmp_path / "out")) == 1
    left = 1000
    said = cli("fleet", traces, "--out", tmp_path / "out").fine()
    assert said.startswith("2 traces and jobs analyzed") and "1 were done" in said
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


def test_paths_name_what_they_tell(tmp_path: Path) -> None:
    put(tmp_path / "ci/llama7/0a1b2c3/host9/x.json", starved())
    told = {"model": "by itself", "commit": "told", "program": "told"}
    put(tmp_path / "ci/llama7/0a1b2c3/other.json", starved(**told))
    put(tmp_path / "ci/llama7/0a1b2c4/host8/y.json", starved(**told))
    torchtraceap.fleet(
        tmp_path / "ci",
        tmp_path / "out",
        path="ci/(?P<model>[^/]+)/(?P<commit>[^/]+)/(?P<host>host[^/]+)/",
    )
    found = {
        (row["program"], row["model"], row["commit"], row["host"])
        for row in read(tmp_path / "out")
    }
    assert found == {
        ("llama7/host/x", "llama7", "0a1b2c3", "host9"),
        ("told", "by itself", "told", None),
        ("told", "llama7", "0a1b2c4", "host8"),
    }


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["nightly"], "name the folder of the results: --out DIR"),
        (["nowhere", "--out", "out"], "nowhere: No such file or directory. Check the"),
        (["nowhere/*.json", "--out", "out"], "no file matches this pattern"),
        (["none", "--out", "out"], "none: no trace is there: 1 files have the name"),
        (["nightly", "--out", "nightly"], "nightly: holds something else than"),
        (["nightly", "--out", "s3://b/x"], "s3://b/x: results are not written to URLs"),
        (["nightly", "--out", "newer"], "newer: is of version 2 of the data set"),
        (["nightly", "--out", "odd"], "fleet.json: does not say what the folder holds"),
        (["nightly", "--out", "torn"], "000001.json: is damaged"),
        (["nightly", "--out", "made", "--recover"], "made: its traces were analyzed"),
        (["nightly", "--out", "none/x.json/y"], "cannot write none/x.json/y: Not a"),
        (["odd://x", "--out", "out"], "odd://x: fsspec cannot open it (Protocol not"),
        (["http://127.0.0.1:9/", "--out", "out"], "127.0.0.1:9/: it cannot be listed"),
        (["nightly", "--out", "out", "--path", "("], "path '(': missing )"),
        (["nightly", "--out", "out", "--path", "x"], "its groups must be of (?P<prog"),
        (["nightly", "--out", "out", "--memory", "lots"], "'lots' is not a size"),
        (["nightly", "--out", "out", "--ray", "127.0.0.1:9"], "cannot use Ray at"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str],
    wanted: str,
    traces: Path,
    here: Path,
    cli: Cli,
) -> None:
    if arguments[0] == "odd://x" or "--ray" in arguments:
        pytest.importorskip("fsspec"), pytest.importorskip("ray")
    put(here / "none/x.json", b'{"name": "no trace"}')
    head = {"format": "torchtraceap fleet", "version": 2, "settings": {}}
    put(here / "newer/fleet.json", json.dumps(head).encode())
    put(here / "odd/fleet.json", b"{}")
    torchtraceap.fleet("nightly", "made")
    torchtraceap.fleet("nightly", "torn")
    put(here / "torn/_batches/000001.json", b'{"items"')
    done = cli("fleet", *arguments)
    assert done.code == 2 and wanted in done.err, done.err
    assert "Traceback" not in done.err and len(done.err) < 1500
    assert done.out == ""


def test_the_page_has_the_columns() -> None:
    """Of the table of traces; of the others, all tables."""
    text = section(page("fleet"), "The data set")
    cells = re.findall(r"^\| (.*?) \|", text.partition("Columns of")[2], re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted([*schemas()["traces"].names, "day"])
    cells = re.findall(r"^\| (.*?) \|", text.partition("Columns of")[0], re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert named == list(TABLES)


def test_one_process_writes_at_a_time(traces: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    torchtraceap.fleet(traces, out)
    refused = pytest.raises(ConfigError, match="another process writes there")
    with data_set.DataSet(out).writing(), refused:
        torchtraceap.fleet(traces, out)
