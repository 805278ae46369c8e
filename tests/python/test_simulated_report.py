# SPDX-License-Identifier: BSD-3-Clause
"""test_simulated_report.py: the report on a trace that no profiler recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.gate.budget import read_budget
from torchtraceap.report import Report

from . import waits_trace
from .conftest import Cli

NOTE = {
    "dry_run": {"gpu": "H100 SXM", "host_us_per_op": 7.5, "waits": [waits_trace.WAIT]}
}
SENTENCE = "No time here was measured"
ASSUMED = ("assuming 7.5 µs of host time for each operator", "H100 SXM")
TIMES = {
    "max_gap_us": 1,
    "min_busy": 0.99,
    "max_step_us": 1,
    "max_median_step_us": 1,
    "max_wasted_share": 0.0,
}


def program(steps: int = 4, think_us: int = 60) -> _core.Program:
    """A program that reads a value back in each step."""
    return waits_trace.program(steps, think_us, 200, read="aten::item")


@pytest.fixture(scope="module")
def text() -> bytes:
    return program().trace_text(NOTE)


@pytest.fixture(scope="module")
def simulated(text: bytes) -> Report:
    return torchtraceap.analyze(text)


@pytest.fixture(scope="module")
def recorded(text: bytes) -> Report:
    """The same times, as if a profiler had recorded them."""
    return torchtraceap.analyze(re.sub(rb'"torchtraceap": {.*},\n', b"", text, count=1))


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_facts_and_findings_tell(simulated: Report, recorded: Report) -> None:
    assumed = simulated.trace.simulated
    assert (assumed.gpu, assumed.host_us_per_op) == ("H100 SXM", 7.5)
    assert simulated.findings
    assert {f.origin for f in simulated.findings} == {"dry-run"}
    assert {f.basis for f in simulated.findings} == {"simulated"}
    labels = [label for w in simulated.windows for label in w.labels]
    assert {label.origin for label in labels} == {"dry-run"}
    # All else is as of a recording of these times.
    assert recorded.trace.simulated is None
    assert {f.origin for f in recorded.findings} == {"rule"}
    assert {f.basis for f in recorded.findings} == {"measured"}
    assert [f.wasted_us for f in recorded.findings] == [
        f.wasted_us for f in simulated.findings
    ]
    assert recorded.balance == simulated.balance


def test_each_form_for_people_says_so_at_its_top(simulated: Report) -> None:
    page, notebook = simulated.to_html(), simulated._repr_html_()
    forms = {
        "summary": simulated.summary(),
        "markdown": simulated.to_markdown(),
        "page": plain(page[page.index("<main") :]),
        "notebook": plain(notebook[notebook.index("</style>") :]),
    }
    for name, form in forms.items():
        said = " ".join(form.replace("\\", "").split())
        assert SENTENCE in said[:300], name
        for what in ASSUMED:
            assert what in said, name
        # What is called measured is what was not.
        left = said.replace(SENTENCE, "")
        assert "measured" not in left, name


def test_recordings_say_nothing_of_it(recorded: Report) -> None:
    for form in (recorded.summary(), recorded.to_html(), recorded.to_markdown()):
        assert SENTENCE not in form
    assert "Simulated" not in plain(recorded._repr_html_())
    assert "measured" in recorded.to_html()


def test_json_form(simulated: Report) -> None:
    form: Any = simulated.to_dict()
    assert form["trace"]["simulated"] == {"gpu": "H100 SXM", "host_us_per_op": 7.5}
    assert form["findings"][0]["basis"] == "simulated"
    assert "measured" not in json.dumps(form)


def test_sarif_messages_say_so(simulated: Report, recorded: Report) -> None:
    (run,) = json.loads(simulated.to_sarif())["runs"]
    texts = [result["message"]["text"] for result in run["results"]]
    assert texts
    assert all(text.startswith(SENTENCE) for text in texts)
    (told,) = run["invocations"][0]["toolExecutionNotifications"][:1]
    assert told["message"]["text"].startswith(SENTENCE)
    assert SENTENCE not in recorded.to_sarif()


def test_what_a_trace_does_not_tell_is_not_made_up() -> None:
    report = torchtraceap.analyze(program().trace_text())
    assert report.trace.simulated.host_us_per_op is None
    head = " ".join(report.summary().split())
    assert "assuming host time for each operator" in head
    assert "an unnamed GPU" in head


def test_names_in_the_mark_are_foreign_text() -> None:
    note = {"dry_run": {"gpu": "<b>\x1b[31m`x`", "host_us_per_op": 1e300}}
    # Nor is a time that none can be.
    report = torchtraceap.analyze(program().trace_text(note))
    assert "\x1b" not in report.summary()
    assert report.trace.simulated.host_us_per_op is None
    assert r"<b>\x1b" not in report.to_html()


def test_no_copy_is_slow_on_an_assumed_link() -> None:
    p = _core.Program()
    p.add_device(0, "NVIDIA H100", 80 << 30, 132, 9, 0)
    thread, stream = p.add_thread(1, "python"), p.add_stream(7)
    for us in (200, 4_000, 4_000):  # 42 GB/s, then a twentieth of it.
        name = "Memcpy HtoD (Pinned -> Device)"
        p.copy(thread, stream, name, us * 1000, 4_000, 8 << 20)
    text = p.trace_text(NOTE)
    measured = text.replace(b'"simulated": true', b'"simulated": false')
    found = [f.pattern for f in torchtraceap.analyze(measured).findings]
    assert "slow_copy" in found
    found = [f.pattern for f in torchtraceap.analyze(text).findings]
    assert "slow_copy" not in found


# --- Budgets ------------------------------------------------------------------------


def test_no_limit_of_times_passes_or_is_broken(simulated: Report) -> None:
    """Not one that would be kept, either: nothing was measured."""
    lax = {"max_gap_us": 1e9, "min_busy": 0.0, "max_step_us": 1e9}
    for limits in (TIMES, lax):
        found = read_budget(limits).check(simulated)
        assert [v.limit for v in found] == list(limits)
        for violation in found:
            assert not violation.known
            assert "no time in it was measured" in violation.message
    assert read_budget({**TIMES, "unknown": "pass"}).check(simulated) == ()


def test_counts_are_held_against_their_limits(simulated: Report) -> None:
    budget = read_budget(
        {
            "max_kernels_per_step": 1,
            "patterns": {"sync_stall": {"max_count": 1, "max_share": 0.9}},
        }
    )
    found = {v.limit: v for v in budget.check(simulated)}
    assert found["max_kernels_per_step"].known
    assert found["patterns.sync_stall.max_count"].known
    assert found["patterns.sync_stall.max_count"].findings
    assert not found["patterns.sync_stall.max_share"].known
    kept = read_budget({"max_kernels_per_step": 2})
    assert kept.check(simulated) == ()


def test_a_check_says_so_on_all_its_ways(text: bytes, tmp_path: Path, cli: Cli) -> None:
    trace, budget = tmp_path / "trace.json", tmp_path / "budget.toml"
    trace.write_bytes(text)
    budget.write_text("min_busy = 0.1\nmax_kernels_per_step = 2\n")
    files = {name: tmp_path / name for name in ("json", "markdown", "sarif")}
    options = [f"--{name}={file}" for name, file in files.items()]
    command = ["check", trace, "--budget", budget, *options]
    code, out, _ = cli(*command)
    said = " ".join(out.split())
    assert code == 1 and SENTENCE in said
    assert "undetermined: min_busy: the trace is simulated" in said
    assert json.loads(files["json"].read_text())["traces"][0]["simulated"] is True
    for form in ("markdown", "sarif"):
        assert SENTENCE in files[form].read_text("utf-8"), form
    budget.write_text('unknown = "pass"\nmin_busy = 0.1\n')
    assert SENTENCE in cli(*command).fine().replace("\n  ", " ")


# --- Comparisons --------------------------------------------------------------------


def test_measured_times_are_not_compared_with_assumed_ones(
    simulated: Report, recorded: Report
) -> None:
    comparison = torchtraceap.compare(recorded, simulated)
    assert not comparison.comparable
    assert "the trace after is simulated" in comparison.notes[0]
    worse = comparison.worse()
    assert worse
    assert not any(each.known for each in worse)


def test_two_dry_runs_are_compared_and_their_assumptions_told(
    simulated: Report,
) -> None:
    slower = torchtraceap.analyze(program(think_us=200).trace_text(NOTE))
    comparison = torchtraceap.compare(simulated, slower)
    assert comparison.comparable
    assert any("no time in them was measured" in note for note in comparison.notes)
    assert not any("assumed other things" in note for note in comparison.notes)
    other = {"dry_run": {**NOTE["dry_run"], "host_us_per_op": 9.0}}
    changed = torchtraceap.analyze(program().trace_text(other))
    notes = torchtraceap.compare(simulated, changed).notes
    assert any("assumed other things" in note for note in notes)


def test_a_what_if_is_of_a_simulation_too(
    simulated: Report, recorded: Report, tmp_path: Path
) -> None:
    result = torchtraceap.what_if(simulated, "sync_stall")
    text = " ".join(result.summary().split())
    assert text.startswith(SENTENCE)
    assert "Simulated " in text
    assert "ecorded" not in text
    trace: Any = result.to_dict()["trace"]
    assert trace["simulated"]["gpu"] == "H100 SXM"
    result.to_trace(tmp_path / "fixed.json")
    assert torchtraceap.analyze(tmp_path / "fixed.json").trace.simulated is not None
    assert torchtraceap.what_if(recorded).summary().startswith("Recorded ")


# --- Programs -----------------------------------------------------------------------


def test_a_note_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        program().trace_text({"host": float("nan")})
    with pytest.raises(TypeError):
        program().trace_text({"host": object()})
