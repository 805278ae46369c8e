# SPDX-License-Identifier: BSD-3-Clause
"""test_threads.py: traces of several processes, and what is shown of threads.

The times of threads are summed up by test_work.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.gate.budget import Budget

from .conftest import Cli
from .real_traces import PATHS
from .trace_builder import (
    Event,
    annotation,
    kernel,
    launch,
    named,
    op,
    profiler_step,
    report_of,
    trace_of,
)

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def ranks(number: int) -> list[Event]:
    """Ranks that share a file; each waits for its loader, the later the longer."""
    events = []
    for rank in range(number):
        pid = f"rank {rank}" if rank else 4711
        events += [
            profiler_step(3, 0, 10_000, pid=pid),
            op("aten::mm", 0, 1000, pid=pid),
            annotation(LOADER, 1000, 1000 * (rank + 1), pid=pid),
            op("aten::mm", 9000, 1000, pid=pid),
        ]
    return events


@pytest.fixture(scope="module")
def two() -> torchtraceap.Report:
    return report_of(*ranks(2))


def test_the_forms_name_processes(two: torchtraceap.Report) -> None:
    text = two.summary(windows=True)
    assert "CPU of process 4711: " in text
    assert "CPU of process rank 1: " in text
    assert "; in process 4711: ProfilerStep#3" in text  # 7 ms of nothing
    assert "2 have a balance each" in " ".join(text.split())
    form = json.loads(two.to_json())
    assert [row["pid"] for row in form["balance"]] == [4711, "rank 1"]
    assert [t["pid"] for t in form["threads"]] == ["rank 1", 4711]  # less idle first
    assert form["threads"] == [t.to_dict() for t in two.threads]
    assert form["threads"][0]["wait_loader_us"] == 2000


def test_a_finding_names_its_process_where_others_have_none() -> None:
    events = ranks(3)
    only = [e for e in events if e["name"] != LOADER or e["pid"] == "rank 1"]
    assert "(process rank 1)" in report_of(*only).summary()
    most = [e for e in events if e["name"] != LOADER or e["pid"] != "rank 1"]
    assert "(2 of 3 processes)" in report_of(*most).summary()


def test_many_processes_and_threads_do_not_flood(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "many.json"
    path.write_bytes(trace_of(*ranks(300)))
    text = cli("analyze", path, "--tables").fine()
    assert "and 284 more processes in report.balance" in text
    assert "Threads (10 of 300)" in text
    assert len(text.splitlines()) < 120


def test_tables_show_threads(cli: Cli) -> None:
    path = PATHS["cpu-laptop-vae-python-stacks.json.gz"]
    lines = cli("analyze", path, "--tables").fine().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Threads, "))
    head, main_row, autograd = (line.split() for line in lines[first + 1 : first + 4])
    assert head[:3] == ["process", "thread", "busy"]
    assert "loader" in head
    assert "sync" not in head  # without any, no column
    assert main_row[:2] == ["1083", "1083"]
    assert main_row[-1] == "python"
    assert autograd[:2] == ["1083", "1182"]
    assert autograd[-1] == "pt_autograd_0"


def test_names_that_are_no_text_for_a_terminal() -> None:
    name = named("thread_name", "thread 1 (\x1b[31m\ud800)", pid=4711)
    hostile = report_of(*ranks(1), name)
    assert "\x1b" not in hostile.tables()
    hostile.to_json()


def test_own_rules_see_and_claim_the_time_of_any_process() -> None:
    @torchtraceap.rule(side="cpu", summary="Slow ends.", advice="End sooner.")
    def slow_ends(view: torchtraceap.RuleView) -> Iterator[torchtraceap.Claim]:
        steps, loads = view.rows(name="ProfilerStep#3"), view.rows(name=LOADER)
        pids = view.columns["pid"]
        assert view.idle().tolist() == view.idle(pid=4711).tolist()
        for row in loads:
            # The loader's time is taken, each from its own process.
            left = view.idle(pid=int(pids[row])).tolist()
            end = int(view.columns["ts"][row] + view.columns["dur"][row])
            assert left == [[0, 1_000_000], [end, 10_000_000]]
        with pytest.raises(ValueError, match="process 5 did no work"):
            view.idle(pid=5)
        (late,) = (r for r in steps if view.trace.identity(int(pids[r])) == "rank 1")
        yield torchtraceap.Claim(int(late), begin_ns=4_000_000, end_ns=5_000_000)

    ruled = torchtraceap.analyze(trace_of(*ranks(2)), rules=[slow_ends])
    times = {row.pid: row.idle_us["slow_ends"] for row in ruled.balance}
    assert times == {4711: 0, "rank 1": 1000}
    (finding,) = (f for f in ruled.findings if f.pattern == "slow_ends")
    assert finding.processes == ("rank 1",)


# --- A file of two ranks, each with a device 0 ----------------------------------------
# Telling them apart is tested by tests/cpp/pipeline/test_merged_ranks.cpp.

STEPS = 20


def merged_rank(label: str, late: float, busy: float) -> Iterator[Event]:
    """What SGLang's merger makes of a rank: all its pids become texts."""
    pid = f"{label} 4000"
    for i in range(STEPS):
        at = i * 1000 + late
        yield op("aten::mm", at, 900, pid=pid)
        yield launch(at + 10, i + 1, pid=pid)
        yield kernel(at + 50, busy, correlation=i + 1, pid=f"{label} 0")


@pytest.fixture
def merged() -> bytes:
    return trace_of(*merged_rank("[TP00]", 0, 300), *merged_rank("[TP01]", 37, 600))


def test_merged_ranks_are_called_by_their_process(
    merged: bytes, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "merged.json"
    path.write_bytes(merged)
    page = tmp_path / "page.html"
    out = cli("analyze", path, "--tables", "--html", page).fine()
    for label in ("[TP00]", "[TP01]"):
        assert f"Device 0 of process {label} 4000: busy" in out
        assert f"Device 0 of process {label} 4000" in page.read_text()
    assert "devices of several processes under one number" in " ".join(out.split())
    alone = torchtraceap.analyze(trace_of(*merged_rank("[TP00]", 0, 300)))
    assert "Device 0: busy" in alone.summary()


def test_a_budget_names_the_rank_that_breaks_it(merged: bytes) -> None:
    report = torchtraceap.analyze(merged)
    (broken,) = Budget(min_busy=0.5).check(report)
    assert broken.message.startswith("device 0 of process [TP00] 4000 was busy for")
    (broken,) = Budget(max_gap_us=500).check(report)
    assert "device 0 of process [TP00] 4000 paused for 700" in broken.message


def test_a_rule_of_ones_own_claims_the_right_rank(merged: bytes) -> None:
    @torchtraceap.rule(side="gpu", summary="Long.", advice="Shorten.")
    def long_kernels(view: torchtraceap.RuleView) -> Iterator[torchtraceap.Claim]:
        assert len(set(view.devices)) == 2
        for row in view.rows(category="kernel"):
            if view.columns["dur"][row] > 500_000:
                yield torchtraceap.Claim(int(row))

    report = torchtraceap.analyze(merged, rules=[long_kernels])
    excess = [row.excess_us["long_kernels"] for row in report.balance]
    assert excess == [0, STEPS * 600.0]
