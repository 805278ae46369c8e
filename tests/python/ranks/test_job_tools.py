# SPDX-License-Identifier: BSD-3-Clause
"""test_job_tools.py: agents find traces and jobs below the roots, and get the report of
a job; nothing beside the roots."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.base import program_files
from torchtraceap.ranks import job as jobs
from torchtraceap.views.job_answer import job_answer_line

from .rank_folder import put, rank_trace

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from torchtraceap.mcp_server import reports as served
from torchtraceap.mcp_server.reports import Limits, Reports

from ..test_mcp_server import Agent, serving

FIRST = 1_700_000_000  # 2023-11-14T22:13:20
OUTSIDE = "lies outside the folders that this server may read. "


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with jobs, traces and other files, and a job beside it."""
    beside = tmp_path_factory.mktemp("tree")
    root = beside / "root"
    for rank in range(3):
        trace = rank_trace(rank, 3)
        put(root / f"flat/rank{rank}.json", trace)
        put(root / f"deep/node{rank}/trace.json.gz", trace)
        put(root / f"two/rank{rank}.1700000000001.json", trace)
        put(root / f"two/rank{rank}.1700000000002.json", trace)
        put(root / f".hidden/rank{rank}.json", trace)
        put(beside / f"secret/rank{rank}.json", trace)
        put(beside / f"more/rank{rank}.json", trace)
    put(root / "alone/rank0.json", rank_trace(0, 3))
    put(root / "one.json", rank_trace())
    put(root / "package.json", b'{"name": "x"}')
    put(root / "empty/notes.txt", b"none")
    (root / "out").symlink_to(beside / "secret")
    (root / "out.json").symlink_to(beside / "secret/rank0.json")
    (root / "in.json").symlink_to(root / "one.json")
    (root / "up").symlink_to(beside)
    shutil.copytree(root / "flat", root / "linked")
    (root / "linked/rank2.json").unlink()
    (root / "linked/rank2.json").symlink_to(beside / "secret/rank2.json")
    for path in beside.rglob("*.json*"):
        os.utime(path, (FIRST, FIRST), follow_symlinks=False)
    for age, name in enumerate(("flat/rank1.json", "one.json", "alone/rank0.json")):
        os.utime(root / name, (FIRST + 90 - age,) * 2)
    return root


@pytest.fixture(scope="module")
def agent(tree: Path) -> Iterator[Agent]:
    with serving("--root", tree, "--root", tree.parent / "more") as one:
        yield one


# --- The list -------------------------------------------------------------------------


def test_traces_and_jobs_are_listed_newest_first(agent: Agent, tree: Path) -> None:
    told = agent.ask("traces")
    size = (tree / "flat/rank0.json").stat().st_size
    first, second, third, *rest = told["traces"]
    assert first == {
        "path": "flat",
        "kind": "job",
        "traces": 3,
        "bytes": 3 * size,
        "modified": "2023-11-14T22:14:50+00:00",
    }
    assert (second["path"], second["kind"], second["traces"]) == (
        "one.json",
        "trace",
        1,
    )
    assert (third["path"], third["kind"]) == ("alone/rank0.json", "trace")
    more = str(tree.parent / "more")
    flat = [f"two/rank{r}.170000000000{n}.json" for r in range(3) for n in (1, 2)]
    kinds = {row["path"]: row["kind"] for row in rest}
    job_folders = dict.fromkeys((more, "deep", "linked"), "job")
    assert kinds == job_folders | dict.fromkeys(flat, "trace")
    assert [*kinds][-8:] == ["deep", "linked", *flat]
    assert next(r["traces"] for r in rest if r["path"] == "linked") == 2
    assert "note" not in told and told["next_offset"] is None
    assert told["trace_count"] == len(told["traces"]) == 12


def test_every_path_of_the_list_is_taken(agent: Agent) -> None:
    for row in agent.ask("traces")["traces"]:
        if row["kind"] == "trace":
            assert agent.ask("analyze", trace=row["path"])["trace"]["events"] == 1
        else:
            assert agent.ask("job", folder=row["path"])["job"]["ranks"] == row["traces"]


def test_a_list_comes_by_pages_and_says_so(agent: Agent) -> None:
    every = agent.ask("traces")["traces"]
    found: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = agent.ask("traces", limit=5, offset=offset)
        found += page["traces"]
        offset = page["next_offset"]
        assert page["trace_count"] == 12
        assert ("there are more" in page.get("note", "")) == (offset is not None)
    assert found == every
    below = agent.ask("traces", folder="two")
    assert below["trace_count"] == 6 and "note" not in below
    assert agent.ask("traces", folder="empty")["traces"] == []


def test_a_search_ends(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "_MOST_LOOKED_AT", 9)
    monkeypatch.setattr(program_files, "_roots", None)
    reports = Reports([str(tree)])
    found: Any = []
    reports.answer(lambda: str(found.append(reports.traces(None))), lambda: False)
    ((rows, whole),) = found
    assert not whole and 0 < len(rows) < 12
    why, failed = reports.answer(lambda: str(reports.job(".")), lambda: False)
    assert failed and why.startswith(".: holds more than 9 files and folders")
    asked = iter([False] * 3)
    why, failed = reports.answer(
        lambda: str(reports.traces(None)), lambda: next(asked, True)
    )
    assert failed and "Abandoned" in why


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("..", OUTSIDE),
        ("up", OUTSIDE),
        ("/etc", OUTSIDE),
        ("../not-there", OUTSIDE),
        ("not-there", "there is no such file"),
        ("one.json", "is a file. Give a folder"),
    ],
)
def test_a_folder_is_below_the_roots(agent: Agent, folder: str, why: str) -> None:
    assert why in agent.refused("traces", folder=folder)


# --- The job --------------------------------------------------------------------------


def test_a_job_is_the_one_of_analyze(slow_job: Path, tmp_path: Path) -> None:
    report: Any = torchtraceap.analyze([slow_job])
    form = report.to_json()
    with serving("--root", slow_job.parent) as agent:
        told = agent.ask("job", folder="runs")
        assert told == agent.ask("job", folder="runs/*.json") | {"job": told["job"]}
        assert str(slow_job.parent) not in str(told)
        assert told["job"]["source"] == "runs" and told["job"]["ranks"] == 4
        assert told["verdict"] == job_answer_line(report).partition(": ")[2]
        assert told["late"][0]["rank"] == form["late"][0]["rank"]
        for name, count in told["counts"].items():
            assert count == len(form[name])
            assert len(told[name]) == min(count, 10)
        ranks = [
            agent.ask("analyze", trace=row["path"])["trace"]["rank"]
            for row in told["ranks"]
        ]
        assert ranks == [0, 1, 2, 3]
        few = agent.ask("job", folder="runs", rows=1)
        assert few["counts"] == told["counts"] and len(few["late"]) == 1
        most = max(form["ranks"], key=lambda row: row["caused_us"])["rank"]
        assert [row["rank"] for row in few["ranks"]] == [most]
        part = agent.ask("job", folder="runs", step=4)["job"]
        assert (part["steps"], told["job"]["steps"]) == (1, 6)
        size = agent.size("job", folder="runs")
    report.to_perfetto(tmp_path / "merged.json")
    with serving("--root", tmp_path) as agent:
        merged = agent.ask("job", folder="merged.json")
        assert {row["path"] for row in merged["ranks"]} == {"merged.json"}
        assert merged["counts"]["ranks"] == 4
    for limit, why in (
        (size - 1, "so late end; ask for fewer rows"),
        (2000, "few row"),
    ):
        with serving("--root", slow_job.parent, "--max-answer-bytes", limit) as agent:
            failed, text = agent._call("job", {"folder": "runs"})
            assert failed == (limit == 2000) and why in text
            assert len(text.encode()) <= limit


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("analyze", {"trace": "flat"}),
        ("findings", {"trace": "flat"}),
        ("explain", {"trace": "flat", "window": 0}),
        ("compare", {"before": "flat", "after": "one.json"}),
        ("compare", {"before": "one.json", "after": "flat"}),
        ("what_if", {"trace": "flat", "changes": [{"kind": "fix", "name": "x"}]}),
    ],
)
def test_tools_of_one_trace_name_the_one_of_a_job(
    agent: Agent, tool: str, arguments: dict[str, Any]
) -> None:
    assert agent.refused(tool, **arguments) == (
        "flat: is a folder. The tool job analyzes a folder of ranks, the tool traces "
        "lists what a folder holds."
    )


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("../secret*", f"..: {OUTSIDE}"),
        ("../not-there*", f"..: {OUTSIDE}"),
        ("/etc/*", f"/etc: {OUTSIDE}"),
        ("up", f"up: {OUTSIDE}"),
        ("up/secret", f"up/secret: {OUTSIDE}"),
        ("out/*.json", f"out: {OUTSIDE}"),
        ("out.json", f"out.json: {OUTSIDE}"),
        ("u*/secret/*.json", "no .json, .json.gz, .pftrace or"),
        ("u*/not-there/*.json", "no .json, .json.gz, .pftrace or"),
        ("fl*/../../secret/*.json", "no .json, .json.gz, .pftrace or"),
        ("empty", "empty: no .json, .json.gz, .pftrace or"),
        ("not-there", "not-there: there is no such file"),
        ("one.json", "The tool analyze takes a single trace."),
        ("two", "pass one of them: 'two/rank*.1700000000001.json' (3 files)"),
    ],
)
def test_a_job_is_below_the_roots(
    agent: Agent, tree: Path, folder: str, why: str
) -> None:
    told = agent.refused("job", folder=folder)
    assert why in told and str(tree) not in told


def test_a_recording_is_named_by_a_pattern(agent: Agent) -> None:
    told = agent.ask("job", folder="two/rank*.1700000000001.json")
    assert told["job"]["ranks"] == told["counts"]["ranks"] == 3
    assert {row["path"][-7:] for row in told["ranks"]} == {"01.json"}


def test_a_rank_that_lies_outside_is_left_out(agent: Agent, tree: Path) -> None:
    told = agent.ask("job", folder="linked")
    assert [row["path"] for row in told["ranks"]] == [
        "linked/rank0.json",
        "linked/rank1.json",
    ]
    (left_out,) = (n for n in told["job"]["notes"] if n["kind"] == "skipped_files")
    assert left_out["detail"] == (
        "Not read: linked/rank2.json (it may not be read here)."
    )
    assert told["job"]["missing"] == [2] and str(tree) not in str(told)


def test_each_trace_of_a_job_is_bounded(tree: Path) -> None:
    size = (tree / "flat/rank0.json").stat().st_size
    with serving("--root", tree, "--max-text-bytes", size - 1) as agent:
        why = agent.refused("job", folder="flat")
        assert why.startswith(
            f"flat/rank0.json: has {size} bytes, and this server take"
        )


@pytest.mark.parametrize("kept", [jobs._KEPT_BYTES, 0])
def test_a_job_is_read_no_further_for_nobody(
    kept: int, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its ranks are read by other processes."""
    monkeypatch.setattr(program_files, "_roots", None)
    monkeypatch.setattr(jobs, "_KEPT_BYTES", kept)
    reports = Reports([str(tree)], Limits())
    count, told = reports.go_on, list[float]()

    def counted(*done: float) -> None:
        told.extend(done)
        count()

    monkeypatch.setattr(reports, "go_on", counted)
    ask: Any = lambda: repr(reports.job("flat"))  # noqa: E731
    whole, failed = reports.answer(ask, lambda: False)
    assert not failed and whole.startswith("<JobReport of 3 ranks"), whole
    assert told[-2:] == [3, 3]
    told.clear()
    why, failed = reports.answer(ask, lambda: bool(told))
    assert failed and "Abandoned" in why
