# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet_report.py: the questions over a data set, and their answers' forms."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import ConfigError
from torchtraceap.fleets import queries
from torchtraceap.fleets.fleet_report import (
    FleetReport,
    fleet_markdown,
    fleet_page,
    fleet_report,
)
from torchtraceap.fleets.regressions import regressions

from ..conftest import Cli
from ..ranks.rank_folder import put
from ..trace_builder import launched, loader_trace, op, trace_of
from .conftest import starved

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


def test_what_is_no_data_set_is_said(fleet: Path, here: Path, cli: Cli) -> None:
    for arguments, wanted in (
        (["report", "nowhere"], "nowhere: there is no such folder. Give one that"),
        (["report", "."], ".: holds something else than the results of a fleet"),
        (["report"], "name one data set: torchtraceap fleet report DIR"),
        (["report", fleet, fleet], "name one data set"),
        (["report", fleet, "--html", "x/y.html"], "cannot write x/y.html"),
        (["x", "--out", "y", "--html", "z.html"], "are of: torchtraceap fleet report"),
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
