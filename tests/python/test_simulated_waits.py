# SPDX-License-Identifier: BSD-3-Clause
"""test_simulated_waits.py: each wait of a dry run is a finding of its report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.gate.budget import read_budget
from torchtraceap.gate.checks import check_report
from torchtraceap.report import Report
from torchtraceap.views.table_columns import TABLES

from .conftest import Cli
from .waits_trace import SETUP, WAIT, trace


def stalls(report: Report) -> list[Any]:
    return [f for f in report.findings if f.pattern == "sync_stall"]


@pytest.fixture(scope="module")
def report() -> Report:
    return torchtraceap.analyze(trace([SETUP, WAIT]))


def test_what_costs_no_time_is_a_finding_without_any(report: Report) -> None:
    wait, setup = stalls(report)
    assert (str(wait.location), wait.operator) == ("/home/me/train.py:12", WAIT["api"])
    assert (wait.kind, wait.count) == ("sync_stall (scalar_read)", 4)
    assert (wait.origin, wait.basis, wait.severity) == ("dry-run", "simulated", "low")
    assert (wait.wasted_us, wait.idle_us, wait.recoverable_us) == (0, 0, None)
    assert "4 times, 1 a step" in wait.message
    assert "costs no idle time" in wait.message
    assert "10 µs of host time assumed" in wait.message
    assert "a guessed value" in wait.message
    assert wait.advice == "keep the value on the device"
    assert (setup.count, setup.kind) == (9, "sync_stall (blocking_copy)")
    assert "9 times, in the first step only" in setup.message


def test_every_form_has_them(report: Report, tmp_path: Path, form_of: Any) -> None:
    assert form_of(report) == report.to_dict()
    for form in (report.summary(), report.to_html(), report.to_markdown()):
        assert "train.py:12" in form.replace("\\", "")
    (run,) = json.loads(report.to_sarif())["runs"]
    assert {r["ruleId"] for r in run["results"]} >= {"sync_stall"}
    ids = TABLES["findings"](report)[0]
    assert (ids.name, ids.values) == ("id", [f.id for f in report.findings])
    report.to_perfetto(tmp_path / "perfetto.json")
    again = torchtraceap.analyze(tmp_path / "perfetto.json")
    assert [f.id for f in stalls(again)] == [f.id for f in stalls(report)]


def test_the_rule_s_own_finding_stands_for_the_place() -> None:
    report = torchtraceap.analyze(trace([WAIT], read_us=200))
    (found,) = stalls(report)
    assert found.wasted_us > 0
    assert found.count == 4  # The last keeps no launch waiting, but the trace's end.
    assert found.waits == 4
    # The same id in another simulation, so that the two are compared.
    (other,) = stalls(torchtraceap.analyze(trace([WAIT])))
    assert other.id == found.id


def test_a_window_of_steps_has_their_waits() -> None:
    text = trace([SETUP, WAIT])
    (wait,) = stalls(torchtraceap.analyze(text, steps=(1, 2)))
    assert (wait.location.line, wait.count) == (12, 2)
    # Without any step it is not known what is of the window.
    partly = torchtraceap.analyze(text, categories=["kernel", "cpu_op"])
    assert not partly.steps
    assert ["of the whole run" in f.message for f in stalls(partly)] == [True, True]


@pytest.mark.parametrize(
    "wrong",
    [
        [None, 3, "x", [], {}],
        [{**WAIT, "subtype": "other"}],
        [{**WAIT, "subtype": []}],
        [{**WAIT, "steps": [[0, 3]]}],
        [{**WAIT, "steps": [[3, 0, 1]]}],
        [{**WAIT, "steps": [[0, 10**30, 1]]}],
        [{**WAIT, "steps": [[0, 1, True]]}],
        [{**WAIT, "steps": [[0, 1, -1]]}],
        [{**WAIT, "steps": "many"}],
        [{**WAIT, "api": 7}],
    ],
)
def test_what_does_not_fit_is_left_out(wrong: list[Any]) -> None:
    report = torchtraceap.analyze(trace([*wrong, SETUP]))
    assert [f.count for f in stalls(report)] == [9]


@pytest.mark.parametrize("wrong", [{}, "x", 3, None])
def test_what_is_no_list_is_none(wrong: Any) -> None:
    report = torchtraceap.analyze(trace(wrong))
    assert stalls(report) == []
    assert not report.lists_waits


def test_names_are_foreign_text(tmp_path: Path) -> None:
    evil = "<script>\x1b[31m\n`|\u202e" * 400
    hostile = {key: evil for key in ("function", "api", "why", "advice")}
    report = torchtraceap.analyze(trace([{**WAIT, **hostile, "file": "/a/\x1b<b>.py"}]))
    (found,) = stalls(report)
    for text in (found.message, found.advice, found.operator):
        assert text.isprintable()
        assert len(text) < 2_000
    for form in (report.summary(), report.to_markdown(), report.to_html()):
        assert "\x1b" not in form
        form.encode()
    for form in (report.to_markdown(), report.to_html()):
        assert "<script>\\x1b" not in form
    report.to_sarif(tmp_path / "found.sarif")
    for line in (0, -1, True, 2**40, "12", None):
        (found,) = stalls(torchtraceap.analyze(trace([{**WAIT, "line": line}])))
        assert found.location is None


def test_a_recording_has_no_such_findings() -> None:
    text = trace([WAIT]).replace(b'"simulated": true', b'"simulated": false')
    report = torchtraceap.analyze(text)
    assert stalls(report) == []
    assert not report.lists_waits


def test_what_if_has_nothing_to_take_off(report: Report, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="costs no time"):
        torchtraceap.what_if(report, "sync_stall")
    costly = torchtraceap.analyze(trace([SETUP, WAIT], read_us=200))
    torchtraceap.what_if(costly, "sync_stall").to_trace(tmp_path / "fixed.json")
    # The list is of the trace before.
    assert not torchtraceap.analyze(tmp_path / "fixed.json").lists_waits


# --- Budgets ------------------------------------------------------------------------


def check(report: Report, **limits: Any) -> dict[str, Any]:
    found = read_budget({"patterns": limits}).check(report)
    return {v.limit.removeprefix("patterns."): v for v in found}


def test_a_count_of_waits_is_held_against_its_limit(report: Report) -> None:
    (broken,) = check(report, sync_stall={"max_count": 0}).values()
    assert (broken.known, broken.found) == (True, 13)
    assert len(broken.findings) == 2
    assert check(report, sync_stall={"max_count": 13}) == {}
    allowed = {"max_count": 4, "allow": ["blocking_copy"]}
    assert check(report, sync_stall=allowed) == {}
    none = torchtraceap.analyze(trace([]))
    assert check(none, sync_stall={"max_count": 0}) == {}


def test_each_wait_counts_whatever_it_costs() -> None:
    report = torchtraceap.analyze(trace([WAIT], read_us=200))
    assert check(report, sync_stall={"max_count": 3})["sync_stall.max_count"].known
    assert check(report, sync_stall={"max_count": 4}) == {}


def test_counts_that_depend_on_times_are_unknown(report: Report) -> None:
    for limits in (
        {"launch_bound": {"max_count": 0}},
        {"launch_bound": {"max_count": 10**6}},
        {"sync_stall": {"max_count": 0, "over_us": 50}},
        {"sync_stall": {"max_count": 10**6, "over_us": 0}},
    ):
        (violation,) = check(report, **limits).values()
        assert not violation.known
        assert "simulated" in violation.message
    unlisted = torchtraceap.analyze(trace(None))
    for allowed in (0, 100):
        found = check(unlisted, sync_stall={"max_count": allowed})
        assert not found["sync_stall.max_count"].known


def test_a_limit_for_all_patterns_reports_the_waits(report: Report) -> None:
    budget = read_budget({"patterns": {"*": {"max_count": 0}}})
    found = budget.check(report)
    assert [v.known for v in found] == [True, False]
    (line,) = check_report(report, budget).lines
    assert not line.passes


def test_check_fails_and_a_written_budget_is_kept(tmp_path: Path, cli: Cli) -> None:
    file, budget = tmp_path / "trace.json", tmp_path / "budget.toml"
    file.write_bytes(trace([WAIT], read_us=200))
    budget.write_text("[patterns.sync_stall]\nmax_count = 0\n")
    code, out, _ = cli("check", file, "--budget", budget)
    assert code == 1 and "train.py:12" in out
    budget.unlink()
    cli("check", file, "--headroom", 0, "--write-budget", budget).fine()
    assert "[patterns.sync_stall]\nmax_count = 4" in budget.read_text()
    cli("check", file, "--budget", budget).fine()


# --- A dry run ----------------------------------------------------------------------


def test_all_waits_of_a_dry_run_are_in_its_report() -> None:
    torch = pytest.importorskip("torch")
    with torchtraceap.dry_run() as run:
        layer = torch.nn.Linear(8, 8).to("cuda")
        for _ in range(3):
            y = layer(torch.randn(4, 8).to("cuda"))
            y.sum().item()
            y[y > 0]
            event = torch.cuda.Event()
            event.record()
            event.synchronize()
            torch.cuda.synchronize()
            run.step()
    assert len(run.waits) == 6
    for host_us in (0.1, 1.0, 10.0, 200.0):
        report = run.report(host_us=host_us)
        assert report.lists_waits
        assert sum(f.waits for f in stalls(report)) == len(run.syncs)
        places = {(f.location.file, f.location.line) for f in stalls(report)}
        assert places == {(w.line.file, w.line.line) for w in run.waits if w.line}
        last = stalls(report)[-1]
        assert "in the first step only" in last.message


def test_each_wait_of_the_table_has_its_kind() -> None:
    from torchtraceap.waits.table import BY_OPERATOR, KINDS

    (own,) = (p for p in _core.patterns() if p.name == "sync_stall")
    assert [kind.name for kind in KINDS] == own.subtypes
    kinds = {api: row.kind.name for api, row in BY_OPERATOR.items()}
    assert set(kinds.values()) == set(own.subtypes)
    assert kinds["aten::nonzero"] == "data_dependent_shape"
    assert kinds["Tensor.cpu"] == "blocking_copy"
    assert kinds["torch.distributed.barrier"] == "explicit"
