# SPDX-License-Identifier: BSD-3-Clause
"""test_what_if.py: replays with changes, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import edits

from .trace_builder import Event, call, kernel, launched, report_of

Run = Callable[..., Any]
DATA = Path(__file__).parents[1] / "data"
RESNET = DATA / "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = DATA / "mi250-rocm62-tiny.json.gz"
LOADER = "enumerate(DataLoader)*"


@pytest.fixture
def report(slow_loader: torchtraceap.Report) -> torchtraceap.Report:
    return slow_loader


def test_the_loader_is_priced_near_what_workers_gained(
    report: torchtraceap.Report,
) -> None:
    """The same program recorded with four workers takes 126.5 ms a step (median)."""
    result = torchtraceap.what_if(report, edits.hide(LOADER))
    steps = sorted(step.changed_span_us / 1000 for step in result.steps)
    median = (steps[2] + steps[3]) / 2
    naive = 105.4  # the step less the loader's time
    assert naive < median < 126.5
    assert abs(median / 126.5 - 1) < 0.10


def test_no_gain_of_a_trace_without_a_device_is_counted_on() -> None:
    """On a CPU a loader's workers may take the processors that the step needs."""
    report = torchtraceap.analyze(DATA / "cpu-laptop-vae-python-stacks.json.gz")
    (loader,) = report.findings
    assert loader.recoverable_low_us == 0 < loader.recoverable_us
    together = report.recovery.together
    assert together is not None and together.low_us == 0 < together.high_us


def test_a_pattern_a_place_and_an_id_name_the_same_finding(
    report: torchtraceap.Report,
) -> None:
    loader = next(f for f in report.findings if f.pattern == "dataloader_bound")
    by_name = torchtraceap.what_if(report, "dataloader_bound").gain
    by_id = torchtraceap.what_if(report, loader.id).gain
    assert by_name is not None
    assert by_name == by_id
    assert by_name.high_us == loader.recoverable_us
    assert by_name.low_us == loader.recoverable_low_us
    at = torchtraceap.what_if(report, "resnet50_profiler_api.py:42").gain
    assert at == by_name
    guess = torchtraceap.what_if(report, edits.scale("*", 0.5)).gain
    assert guess is not None
    assert guess.low_us == 0 < guess.high_us


def test_findings_together_gain_no_more_than_the_trace_has(
    report: torchtraceap.Report,
) -> None:
    together = report.recovery.together
    assert together is not None
    gains = [g.high_us for g in report.recovery.gains if g]
    assert max(gains) <= together.high_us < report.trace.span_us
    assert together.low_us <= together.high_us
    everything = torchtraceap.what_if(report, *(f.id for f in report.findings))
    assert everything.gain is not None
    assert everything.gain.high_us == together.high_us


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (edits.scale("gemm", 0.5), ValueError, "no event is named 'gemm'"),
        (edits.scale(LOADER, 0.5), ValueError, "takes names of device work"),
        ("42", ValueError, "no finding is '42'"),
        ("sync_stal", ValueError, "no finding is 'sync_stal'"),
        (3, TypeError, "but this is 3"),
    ],
)
def test_what_names_nothing_is_refused(
    report: torchtraceap.Report, edit: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        torchtraceap.what_if(report, edit)


def test_other_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        edits.scale("*", 2)
    with pytest.raises(TypeError, match="one trace"):
        torchtraceap.what_if([RESNET])  # type: ignore[arg-type]


def test_an_untested_replay_says_so(report: torchtraceap.Report) -> None:
    """A host alone has nothing that a replay works out; a synchronizing one has."""
    host = torchtraceap.analyze(DATA / "cpu-macos-resnet18.json.gz")
    untested = torchtraceap.what_if(host, edits.hide("aten::conv2d"))
    assert untested.gain is not None
    assert not untested.fidelity.informative
    assert "Nothing in this trace tests the replay" in untested.summary()
    tested = torchtraceap.what_if(report, edits.hide(LOADER))
    assert tested.gain is not None
    assert "tests the replay" not in tested.summary()
    bound_by_host = torchtraceap.analyze(DATA / "h100-vit-nsfw-inference.json.gz")
    for each, is_said in ((bound_by_host, True), (report, False)):
        assert any(each.recovery.gains)
        assert ("tests the replay" in each.summary()) is is_said


def test_a_trace_that_contradicts_itself_has_no_gain() -> None:
    """Rows of events recorded after their waits tie two streams to each other."""

    def wait(ts: int, number: int, stream: int, for_stream: int, of: int) -> Event:
        record = {"wait_on_cuda_event_record_corr_id": of, "wait_on_stream": for_stream}
        where = {"category": "cuda_sync", "stream": stream, "correlation": number}
        return kernel(ts, 1, "wait", **where, **record)

    report = report_of(
        call("cudaStreamWaitEvent", 0, 1, 1),
        call("cudaStreamWaitEvent", 2, 1, 2),
        call("cudaEventRecord", 16, 1, 5),
        call("cudaEventRecord", 18, 1, 6),
        *launched(3, 4, 20, 2),
        *launched(4, 10, 19, 4, stream=20),
        wait(1, 1, 7, for_stream=20, of=6),
        wait(2, 2, 20, for_stream=7, of=5),
    )
    assert "work waits for itself" in report.recovery.refusal
    assert "stream_wait" in report.recovery.refusal
    assert report.recovery.fidelity is None
    assert report.recovery.together is None
    assert not any(report.recovery.gains)
    with pytest.raises(ValueError, match="work waits for itself"):
        torchtraceap.what_if(report, edits.scale("*", 0.5))


def test_the_command_prints_the_unchanged_replay_as_json(program: Run) -> None:
    done = program("whatif", RESNET, "--json", "-")
    assert done.returncode == 0, done.stderr
    form = json.loads(done.stdout)
    assert form["edits"] == []
    assert form["gain"] is None
    assert form["span_us"] > 0
    assert abs(form["replayed_span_us"] / form["span_us"] - 1) < 0.002
    assert {"number", "span_us", "replayed_span_us"} <= form["steps"][0].keys()
    assert form["fidelity"]["replayable"] is True
    assert sum(form["fidelity"]["shares"].values()) == pytest.approx(1)


def test_the_command_takes_several_edits(program: Run) -> None:
    edits = ("--drop", "dataloader_bound", "--scale", "*sgemm*=0.5")
    both = program("whatif", RESNET, *edits)
    assert both.returncode == 0, both.stderr
    assert b"Gain" in both.stdout
    assert b"step 5" in both.stdout


def test_the_changed_timeline_is_a_trace(
    report: torchtraceap.Report, tmp_path: Path
) -> None:
    out = tmp_path / "fixed.json"
    result = torchtraceap.what_if(report, edits.hide(LOADER))
    result.to_trace(out)
    form = json.loads(out.read_text())
    assert "what_if" in json.dumps(form["torchtraceap"])
    again = torchtraceap.analyze(out)
    assert again.trace.events == report.trace.events
    assert again.trace.span_us == pytest.approx(result.changed_span_us, rel=0.01)
    pattern = {f.pattern for f in again.findings if f.recoverable_us}
    assert "dataloader_bound" not in pattern


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scale", "x"),
        ("--scale", "x=2"),
        ("--scale", "=0.5"),
        ("--drop", "nothing_of_the_kind"),
        ("--hide", "no such event"),
        ("--json", str(TINY)),
    ],
)
def test_bad_usage_is_a_message(program: Run, arguments: tuple[str, ...]) -> None:
    done = program("whatif", TINY, *arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.strip()
