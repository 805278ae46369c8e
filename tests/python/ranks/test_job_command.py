# SPDX-License-Identifier: BSD-3-Clause
"""test_job_command.py: the program, given the ranks of a job."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import torchtraceap

from ..conftest import Cli
from ..terminal import on_terminal

LATE = "rank 2, train_ranks.py in slow_read()"


@pytest.mark.parametrize("how", ["folder", "pattern", "list"])
def test_ranks_are_told_together(how: str, slow_job: Path, cli: Cli) -> None:
    traces = {
        "folder": [slow_job],
        "pattern": [slow_job / "*.json"],
        "list": sorted(slow_job.glob("*.json")),
    }[how]
    out = cli("analyze", *traces).fine()
    assert "4 of 4 ranks, 6 steps" in out and LATE in out
    (line,) = cli("analyze", "--brief", *traces).fine().splitlines()
    assert "Rank 2 is late, at train_ranks.py in slow_read() (from line" in line


def test_a_notebook_shows_the_job(slow_job: Path) -> None:
    shown = torchtraceap.analyze(slow_job)._repr_html_()
    assert '<p class="headline">Rank 2 is late, at ' in shown
    assert "<h3>Ranks" in shown and " id=" not in shown and "<script" not in shown


def test_forms_of_a_job_and_of_its_ranks(
    slow_job: Path, tmp_path: Path, cli: Cli
) -> None:
    job, sarif = tmp_path / "job.json", tmp_path / "ranks.sarif"
    wanted = ["--json", str(job), "--sarif", str(sarif)]
    cli("analyze", slow_job, "-q", *wanted).fine()
    assert json.loads(job.read_text())["late"][0]["rank"] == 2
    assert len(json.loads(sarif.read_text())["runs"]) == 4
    form = json.loads(cli("analyze", slow_job, "--json", "-").fine())
    assert form["job"]["ranks"] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["analyze", "{}", "--parquet", "tables"], "--parquet takes one trace"),
        (["analyze", "{}", "--tables"], "--tables takes one trace"),
        (["analyze", "{}", "{}/rank0.json"], "is one job. Run the command for each"),
        (["analyze", "{}/nothing*.json"], "no file matches this pattern"),
        (["analyze", "{}", "--json", "{}/rank0.json"], "would overwrite"),
        (
            ["analyze", "{}/*.json", "--html", "{}/rank0.json"],
            "would overwrite",
        ),
        (["check", "{}", "--baseline", "{}/rank0.json"], "Name the file of one rank"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], said: str, slow_job: Path, cli: Cli
) -> None:
    code, _, err = cli(*(one.format(slow_job) for one in arguments))
    assert code == 2 and said in err


def test_a_rank_that_cannot_be_read_is_told_and_the_rest_is_shown(
    slow_job: Path, tmp_path: Path, cli: Cli
) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(slow_job, folder)
    whole = (folder / "rank1.json").read_bytes()
    (folder / "rank1.json").write_bytes(whole[: len(whole) // 2])
    for traces in ([folder], sorted(folder.glob("*.json"))):
        shown = cli("analyze", *traces)
        assert shown.code == 2
        assert "1 missing" in shown.out and LATE in shown.out
        assert "rank1.json" in shown.err and "1 of 4 traces failed" in shown.err
        assert "Traceback" not in shown.err


def test_files_that_have_nothing_to_do_with_each_other_are_each_by_itself(
    data: Path, slow_job: Path, cli: Cli
) -> None:
    traces = [slow_job / "rank0.json", data / "mi250-rocm62-tiny.json.gz"]
    assert cli("analyze", *traces).fine().count("events, ") == 2


def test_a_folder_with_one_trace_is_that_trace(
    data: Path, slow_job: Path, tmp_path: Path, cli: Cli
) -> None:
    folder = tmp_path / "runs"
    (folder / "capture_traces").mkdir(parents=True)
    shutil.copy(data / "mi250-rocm62-tiny.json.gz", folder / "trace.json.gz")
    shutil.copy(slow_job / "rank0.json", folder / "capture_traces/bs_1_rank0.json")
    (folder / "server.json").write_text("{}")
    shown = cli("analyze", folder)
    alone = cli("analyze", folder / "trace.json.gz").fine()
    assert (shown.code, shown.out) == (0, alone)
    assert "server.json (it has no list of events" in shown.err
    report = torchtraceap.analyze(folder)
    assert report.summary() == torchtraceap.analyze(folder / "trace.json.gz").summary()
    limits = tmp_path / "budget.toml"
    limits.write_text("max_wasted_share = 1\n")
    assert "trace.json.gz" in cli("check", folder, "--budget", limits).out
    (folder / "trace.json.gz").unlink()
    shutil.copy(slow_job / "rank0.json", folder)
    assert "1 of 4 ranks, 3 missing" in cli("analyze", folder).out


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        ("[ranks]\nmax_slowdown = 1.1\n", 2, "only the ranks of a job"),
        ("max_wasted_share = 1\n[ranks]\nmax_missing = 0\n", 0, "within budget (1 "),
    ],
)
def test_limits_of_ranks_and_one_trace(
    limits: str, code: int, said: str, data: Path, tmp_path: Path, cli: Cli
) -> None:
    folder, budget = tmp_path / "runs", tmp_path / "budget.toml"
    folder.mkdir()
    trace = shutil.copy(data / "mi250-rocm62-tiny.json.gz", folder / "trace.json.gz")
    (folder / "other.json").write_text("{}")
    budget.write_text(limits)
    named = cli("check", trace, "--budget", budget)
    assert named.code == code and said in named.out + named.err
    for traces in (folder, folder / "*.json.gz"):
        shown = cli("check", traces, "--budget", budget)
        assert (shown.code, shown.out) == (named.code, named.out)
        assert said in shown.out + shown.err
    gone = cli("check", tmp_path / "gone", "--budget", budget)
    assert gone.code == 2 and "o such file" in gone.err


def test_a_merged_file_is_the_job_of_its_ranks(
    slow_job: Path, tmp_path: Path, cli: Cli
) -> None:
    events = []
    for rank in range(4):
        trace = json.loads((slow_job / f"rank{rank}.json").read_text())
        for event in trace["traceEvents"]:  # As SGLang's merger does it.
            if "pid" in event:
                event["pid"] = f"[TP{rank:02}] {event['pid']}"
            events.append(event)
    merged = tmp_path / "merged.json"
    merged.write_text(json.dumps({"traceEvents": events}))
    page = tmp_path / "tables"
    out = cli("analyze", merged).fine()
    assert out.startswith(f"{merged}\n4 ranks, 6 steps") and LATE in out
    assert f"torchtraceap.analyze(['{merged}']).rank(2) in Python" in out
    code, _, err = cli("analyze", merged, "--parquet", page)
    assert code == 2 and "--parquet takes one trace" in err


def test_a_check_names_ranks_and_lines(
    slow_job: Path, tmp_path: Path, cli: Cli
) -> None:
    limits = tmp_path / "budget.toml"
    limits.write_text("max_step_us = 1\n[ranks]\nmax_slowdown = 1.1\nmax_missing = 0\n")
    found = tmp_path / "found.json"
    code, out, _ = cli("check", slow_job, "--budget", limits, "--json", found)
    assert code == 1
    assert "over budget: 2 of 3 limits broken" in out
    assert "rank 2, train_ranks.py in slow_read() (from line" in out
    assert [f"rank {rank}: step" in out for rank in range(4)] == [True] * 4
    (checked,) = json.loads(found.read_text())["traces"]
    of_steps = checked["limits"][2]["violations"]
    assert checked["trace"] == str(slow_job)
    assert [violation["rank"] for violation in of_steps] == [0, 1, 2, 3]
    cli("check", slow_job, "--write-budget", limits).fine()
    cli("check", slow_job, "--budget", limits).fine()
    code, _, err = cli("check", f"{slow_job}/rank0.json", "--budget", limits)
    assert code == 2 and "only the ranks of a job" in err


REDUCING = """
import time
from torchtraceap.cli import output
output.PATIENCE_S = 0.01
counts = [37, 38]
with output.stage("reducing", done=lambda: (counts[0] / 512, f"{counts[0]} of 512")):
    time.sleep(1)
    del counts[0]
    time.sleep(1)
"""


def test_somebody_who_watches_is_told_how_many_are_done() -> None:
    hidden = {"PYTEST_CURRENT_TEST", "CI", "NO_COLOR"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-c", REDUCING]
    code, shown = on_terminal(command, env | {"TERM": "xterm"}, only_errors=True)
    assert code == 0 and "reducing" in shown
    assert shown.index("37 of 512") < shown.index("38 of 512") and " 7%" in shown
