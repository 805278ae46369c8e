# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet.py: any number of traces become one data set, each of them once."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.fleets.rows import TABLES, schemas

from ..conftest import Cli
from ..pages import page, section
from ..ranks.rank_folder import put
from .conftest import read, starved


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


def test_a_rank_that_fails_is_of_its_job(slow_job: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for number, path in enumerate(sorted(slow_job.iterdir())):
        put(folder / path.name, path.read_bytes()[: -200 if number == 3 else None])
    ran = torchtraceap.fleet(folder, tmp_path / "out")
    (job,) = {row["job"] for row in read(tmp_path / "out")}
    assert len(ran.failures) == 1 and job


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


@pytest.mark.verify
def test_ray_gives_the_same_rows(traces: Path, slow_job: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    put(traces / "empty.json", b"")
    sources = [traces, slow_job]
    for name, ray in (("here", None), ("ray", "local")):
        torchtraceap.fleet(sources, tmp_path / name, ray=ray, workers=2)
    for table in TABLES:
        here, there = (read(tmp_path / name, table) for name in ("here", "ray"))
        assert here == there and here, table


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
        (["", "--out", "out"], "'': the path is empty. Give a folder"),
        (["nowhere", "--out", "out"], "nowhere: No such file or directory. Check the"),
        (["nowhere/*.json", "--out", "out"], "no file matches this pattern"),
        (["none", "--out", "out"], "none: no trace is there: 1 files have the name"),
        (["nightly", "--out", "nightly"], "nightly: holds something other than"),
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
