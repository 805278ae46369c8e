# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet_report.py: the questions over a data set, and their answers' forms."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import torchtraceap
from torchtraceap import ConfigError
from torchtraceap.fleets import queries
from torchtraceap.fleets.data_set import DataSet
from torchtraceap.fleets.fleet_report import (
    FleetReport,
    fleet_lines,
    fleet_markdown,
    fleet_page,
    fleet_report,
)
from torchtraceap.fleets.items import FleetFile, item_of
from torchtraceap.fleets.regressions import regressions
from torchtraceap.fleets.rows import schemas, table_of
from torchtraceap.fleets.tasks import Done

from ..conftest import Cli
from ..ranks.rank_folder import put
from ..trace_builder import launched, loader_trace, op, trace_of
from .conftest import BASE_NS, starved

if TYPE_CHECKING:
    import duckdb

pytest.importorskip("duckdb")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A data set of a program that gets slower, one that does not, one without a GPU,
    and a failure."""
    for day, slow in enumerate((1.0, 1.01, 1.5, 1.6)):
        path = tmp_path / f"nightly/run-{day}/train.json"
        more = {"commit": f"abc{day}", "model": HOSTILE, "host_name": "node7"}
        put(path, starved(day=day, slow=slow, **more))
        put(tmp_path / f"nightly/run-{day}/even.json", starved(day=day, steps=9))
    put(tmp_path / "nightly/cut.json", starved()[:-200])
    put(tmp_path / "nightly/run-0/host.json", loader_trace())
    torchtraceap.fleet(tmp_path / "nightly", tmp_path / "out")
    return tmp_path / "out"


def asked(out: Path, *traces: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Questions over a data set of traces with a GPU, recorded at ``hour`` of
    2026-09-14 (None: unknown), with findings: microseconds ``lost`` by pattern."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    for number, given in enumerate(traces):
        row = {"program": "train", "gpu": "H100", "status": "ok", "hour": 0, **given}
        row |= {"trace": f"t{number:02}", "url": f"/ci/{number:02}.json"}
        hour = row.pop("hour")
        begin = datetime.fromtimestamp(BASE_NS / 1e9, UTC).replace(tzinfo=None)
        begin = datetime(1970, 1, 1) if hour is None else begin + timedelta(hours=hour)
        lost = row.pop("lost", {})
        rows.append({"time": begin, "device_us": 1000.0, "busy_us": 500.0, **row})
        findings += (
            {"trace": row["trace"], "id": name, "pattern": name, "wasted_us": us}
            for name, us in lost.items()
        )
    tables = {
        "traces": table_of("traces", rows),
        "findings": pa.Table.from_pylist(findings, schema=schemas()["findings"]),
    }
    tables = {name: table for name, table in tables.items() if table.num_rows}
    item = item_of("/ci", [FleetFile("/ci/00.json", 1, "", 0)], "/ci", "/", None)
    data = DataSet.create(str(out), {})
    with data.writing():
        data.add([Done(item, "2026-09-14", (), tables, ())], {})
    return queries.connected(str(out))


def test_programs_and_what_they_lose(fleet: Path) -> None:
    connection = queries.connected(str(fleet))
    facts = queries.facts(connection)
    found = fleet.parent.glob("nightly/*/[et]*.json")
    reports = [torchtraceap.analyze(path) for path in found]
    lost_us = sum(f.wasted_us for report in reports for f in report.findings)
    assert facts["lost_us"] == pytest.approx(lost_us)
    assert facts["device_us"] == sum(r.trace.device_time_us for r in reports)
    assert (facts["traces"], facts["programs"], facts["failed"]) == (10, 4, 1)
    first, second, *_ = queries.worst_programs(connection)
    assert (first["program"], second["program"]) == ("even", "train")
    assert first["pattern"] == "dataloader_bound" and first["traces"] == 4
    assert second["url"].endswith("run-3/train.json")
    commits = {
        r["name"]: r["traces"] for r in queries.findings_by(connection, "commit")
    }
    assert commits == {f"abc{day}": 1 for day in range(4)}
    (pattern,) = queries.findings_by(connection, "pattern")
    assert pattern["lost_us"] == pytest.approx(lost_us)
    with pytest.raises(ValueError, match="'url' is not one of pattern"):
        queries.findings_by(connection, "url")


def test_no_pattern_is_named_where_nothing_is_lost(tmp_path: Path) -> None:
    connection = asked(
        tmp_path / "out",
        {"program": "even", "lost": {"sync_stall": 0}},
        {"lost": {"sync_stall": 0, "launch_bound": 3}},
    )
    found = queries.worst_programs(connection)
    assert [(one["program"], one["pattern"]) for one in found] == [
        ("train", "launch_bound"),
        ("even", None),
    ]


# Lengths of steps day by day; then the days of the last green trace, of the first red
# one and of the newest.
@pytest.mark.parametrize(
    ("lengths", "wanted"),
    [
        ((1, 1, 1), None),
        ((1, 1.04, 1.08), None),
        ((1, 1.5, 1.5), (0, 1, 2)),
        ((1, 1, 1.2), (1, 2, 2)),
        ((1, 1.5, 1), None),
        ((1, 0.8, 0.9), (1, 2, 2)),
        ((1, 1.3, 1, 1.1), (2, 3, 3)),
        # Within noise of the night before, each time.
        ((1, 1.03, 1.06, 1.09, 1.12, 1.15), (2, 3, 5)),
    ],
)
def test_regressions_are_against_the_last_green_trace(
    lengths: tuple[float, ...], wanted: tuple[int, ...] | None, tmp_path: Path
) -> None:
    for day, slow in enumerate(lengths):
        put(tmp_path / f"ci/run-{day}/train.json", starved(day=day, slow=slow))
    torchtraceap.fleet(tmp_path / "ci", tmp_path / "out")
    found = regressions(queries.connected(str(tmp_path / "out")))
    assert len(found) == (wanted is not None)
    for one in found:
        runs = (one.green, one.since, one.now)
        assert tuple(run["time"].day - 14 for run in runs) == wanted
        assert one.measure == "step" and one.pattern == "dataloader_bound"
        assert one.change.before == pytest.approx(10_000 * lengths[wanted[0]])


def test_without_steps_the_lost_share_counts(tmp_path: Path) -> None:
    def trace(day: int, wait: float) -> bytes:
        text = starved(day=day).replace(b"ProfilerStep#", b"part ")
        return text.replace(b"9000", str(wait).encode())

    for day, wait in enumerate((5000, 9000)):
        put(tmp_path / f"ci/run-{day}/serve.json", trace(day, wait))
    torchtraceap.fleet(tmp_path / "ci", tmp_path / "out")
    (one,) = regressions(queries.connected(str(tmp_path / "out")))
    assert one.measure == "lost" and 0.3 < one.change.before < one.change.after < 1


RANK = {"job": "j", "world_size": 4}
STEP = {"step_us": 10_000.0, "step_error_us": 1.0}
SLOW = {"step_us": 30_000.0, "step_error_us": 1.0}


# Traces in order; then the hours of the newest ones of programs that are red.
@pytest.mark.parametrize(
    ("traces", "wanted"),
    [
        # One of the second job's ranks failed.
        (
            [{**STEP, **RANK}] * 4
            + [{**SLOW, **RANK, "job": "k", "hour": 1}] * 3
            + [{"status": "failed", "hour": 1}],
            [1],
        ),
        # Others of the program go on: five times without it are its end.
        (
            [STEP, {**SLOW, "hour": 1}]
            + [{**STEP, "world_size": 2, "hour": 2 + n} for n in range(4)],
            [1],
        ),
        (
            [STEP, {**SLOW, "hour": 1}]
            + [{**STEP, "world_size": 2, "hour": 2 + n} for n in range(5)],
            [],
        ),
        # On another GPU they say nothing.
        (
            [STEP, {**SLOW, "hour": 1}]
            + [{**STEP, "gpu": "A100", "hour": 2 + n} for n in range(5)],
            [1],
        ),
        # From nothing lost is a greater change than any.
        (
            [
                *(STEP, {**SLOW, "hour": 1}),
                {"program": "serve"},
                {"program": "serve", "lost": {"sync_stall": 500}, "hour": 2},
            ],
            [2, 1],
        ),
        # Without a time there is no order.
        ([{**STEP, "hour": None}, SLOW], []),
    ],
)
def test_what_is_red_now(
    traces: list[dict[str, Any]], wanted: list[int], tmp_path: Path
) -> None:
    found = regressions(asked(tmp_path / "out", *traces))
    assert [one.now["time"].hour for one in found] == wanted


# Traces in order; then the trace that is the first to have the finding.
@pytest.mark.parametrize(
    ("traces", "wanted"),
    [
        ([{}, {"lost": {"a": 1}, "hour": 1}], ["/ci/01.json"]),
        # A job whose later rank has it had it from the first on.
        ([RANK, {**RANK, "lost": {"a": 1}, "hour": 1}], []),
        (
            [RANK, {"job": "k", "hour": 1}, {"job": "k", "lost": {"a": 1}, "hour": 2}],
            ["/ci/02.json"],
        ),
        # Without a time there is no order.
        ([{"hour": None}, {"lost": {"a": 1}}], []),
        ([{}, {"lost": {"a": 1}, "hour": None}], []),
        # What failed was not looked at.
        ([{"status": "failed"}, {"lost": {"a": 1}, "hour": 1}], []),
    ],
)
def test_what_is_new(
    traces: list[dict[str, Any]], wanted: list[str], tmp_path: Path
) -> None:
    found = queries.appeared(asked(tmp_path / "out", *traces))
    assert [one["url"] for one in found] == wanted


def test_an_unknown_time_is_no_day(tmp_path: Path) -> None:
    asked(tmp_path / "out", {"program": "old", "hour": None}, {})
    report = fleet_report(tmp_path / "out")
    assert fleet_lines(report)[1].endswith("2 programs, 2026-09-14")
    assert "1970" not in fleet_page(report)


def test_what_appeared_when(tmp_path: Path) -> None:
    fine = trace_of(op("aten::mm", 5, 9), *launched(1, 6, 20, 500))
    base = b'{"baseTimeNanoseconds": %d, ' % 1_789_257_600_000_000_000
    put(tmp_path / "ci/run-0/train.json", base + fine[1:])
    for day in (1, 2):
        put(tmp_path / f"ci/run-{day}/train.json", starved(day=day, commit=f"c{day}"))
        put(tmp_path / f"ci/run-{day}/always.json", starved(day=day))
    torchtraceap.fleet(tmp_path / "ci", tmp_path / "out")
    (row,) = queries.appeared(queries.connected(str(tmp_path / "out")))
    assert (row["pattern"], row["commit"], row["traces"]) == (
        "dataloader_bound",
        "c1",
        2,
    )
    assert f"{row['first']:%Y-%m-%d}" == "2026-09-15"


def test_text_markdown_and_page_say_the_same(fleet: Path, cli: Cli) -> None:
    page, markdown = fleet / "../fleet.html", fleet / "../fleet.md"
    text = cli("fleet", "report", fleet).fine()
    assert cli("fleet", "report", fleet, "-q", "--html", page).fine() == ""
    cli("fleet", "report", fleet, "-q", "--markdown", markdown).fine()
    assert text.startswith("10 traces: ")
    for form in (text, markdown.read_text(), page.read_text()):
        for wanted in ("Regressions", "dataloader_bound", "abc1", "truncated", "node7"):
            assert wanted in form
        assert "+58.4%" in form.replace("\\", "")
    shown = page.read_text()
    assert HOSTILE not in shown and "&lt;script&gt;alert" in shown
    link = f'href="{(fleet / "../nightly/run-3/train.json").resolve().as_uri()}"'
    assert link in shown
    assert cli("fleet", "report", fleet, "--markdown", "-").fine().startswith("###")


def test_a_page_of_thousands_of_rows_is_small(fleet: Path) -> None:
    """Of 10,000 traces, with names as long as they are in practice."""
    report = fleet_report(fleet)
    tables = []
    for table in report.tables:
        row = table.rows[0]
        if isinstance(row, dict):
            long = {
                name: f"/data/nightly/2026-09-14/some-program-{'x' * 60}/{value}"
                for name, value in row.items()
                if name in ("url", "program", "file")
            }
            row = row | long
        tables.append(replace(table, rows=[row] * 10_000))
    whole = FleetReport(report.folder, report.facts, tuple(tables))
    page = fleet_page(whole)
    # As many rows as there is room for.
    assert len(tables) == 8 and 4_000_000 < len(page.encode()) < 5_000_000
    assert re.search(r"and \d,\d{3} more", page)
    assert len(fleet_markdown(whole).encode()) < 65_536


@pytest.mark.parametrize("when", ["questions", "files", "batches"])
def test_a_run_may_replace_what_is_asked(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before questions, or once its files or its batches are listed."""
    source, out = tmp_path / "ci", str(tmp_path / "out")
    put(source / "train.json", starved())
    torchtraceap.fleet(source, out)

    def replaced(found: Any) -> Any:
        """Have a run replace the only batch, once."""
        if (file := source / "train.json").stat().st_size == len(starved()):
            put(file, starved(steps=9))
            torchtraceap.fleet(source, out)
        return found

    listdir = os.listdir
    if when == "files":
        monkeypatch.setattr(queries, "DataSet", lambda name: replaced(DataSet(name)))
    elif when == "batches":
        monkeypatch.setattr(os, "listdir", lambda name: replaced(listdir(name)))
    connection = queries.connected(out)
    replaced(None)
    assert queries.facts(connection)["traces"] == 1
    assert queries.worst_programs(connection)[0]["lost_us"] > 0
    assert regressions(connection) == []


def test_what_is_no_data_set_is_said(fleet: Path, here: Path, cli: Cli) -> None:
    give = "Give a folder that `torchtraceap fleet` wrote."
    (here / "empty").mkdir()
    put(here / "begun/_lock", b"")
    for arguments, wanted in (
        (["report", "nowhere"], f"nowhere: there is no such folder. {give}"),
        (["report", "."], f"holds something other than the results of a fleet. {give}"),
        (["report", "empty"], f"empty: holds no results of a fleet. {give}"),
        (["report", "begun"], f"begun: holds no results of a fleet. {give}"),
        (["report"], "name one data set: torchtraceap fleet report DIR"),
        (["report", fleet, fleet], "name one data set"),
        (["report", fleet, "--html", "x/y.html"], "cannot write x/y.html"),
        (["report", fleet, "--ray", "local"], "--ray is for an analysis"),
        (["report", fleet, "--step", 3], "--step is for an analysis"),
        (["report", "--out", "y"], "--out is for an analysis"),
        (["x", "--out", "y", "--html", "z.html"], "--html is for a report: torchtrac"),
    ):
        done = cli("fleet", *arguments, cwd=here)
        assert done.code == 2 and wanted in done.err, done.err
    (part,) = fleet.glob("findings/day=2026-09-14/*.parquet")
    part.unlink()
    done = cli("fleet", "report", fleet)
    assert done.code == 2 and re.search("a file of the data set is gone", done.err)
    with pytest.raises(ConfigError):
        fleet_report(here)


def test_an_empty_answer_is_one(tmp_path: Path, cli: Cli) -> None:
    """Of a fleet in which everything failed."""
    put(tmp_path / "ci/empty.json", b"")
    assert cli("fleet", tmp_path / "ci", "--out", tmp_path / "out").code == 2
    text = cli("fleet", "report", tmp_path / "out").fine()
    assert "1 failed" in text and "Failures" in text and "Regressions" not in text
