# SPDX-License-Identifier: BSD-3-Clause
"""test_what_if.py: replays with changes, from Python and from the command line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import edits

DATA = Path(__file__).parents[1] / "data"
RESNET = DATA / "kineto2021-v100-resnet50-workers0-memory.json.gz"
LOADER = "enumerate(DataLoader)*"


@pytest.fixture(scope="module")
def report() -> torchtraceap.Report:
    return torchtraceap.analyze(RESNET)


def test_the_unchanged_replay_is_the_recording(report: torchtraceap.Report) -> None:
    result = torchtraceap.what_if(report)
    assert result.gain is None
    assert result.changed_span_us == result.replayed_span_us
    assert abs(result.replayed_span_us / result.span_us - 1) < 0.002
    # Steps from the raw events, by Python's own arithmetic.
    assert len(result.steps) == 6
    for step, own in zip(result.steps, report.steps, strict=True):
        assert step.number == own.number
        assert step.span_us == own.end_us - own.start_us
        assert abs(step.replayed_span_us / step.span_us - 1) < 0.005


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


def test_critical_paths_add_up(report: torchtraceap.Report) -> None:
    paths = report.critical_paths
    assert [path.step for path in paths] == [None, *(s.number for s in report.steps)]
    for path in paths:
        assert sum(path.by_category.values()) == pytest.approx(path.span_us, abs=0.01)
        assert sum(place.us for place in path.places) <= path.span_us + 0.01
    # The loader is the longest part of each step.
    assert str(paths[1].places[0].location) == "resnet50_profiler_api.py:42"


def test_what_names_nothing_is_refused(report: torchtraceap.Report) -> None:
    with pytest.raises(ValueError, match="no event is named 'gemm'"):
        torchtraceap.what_if(report, edits.scale("gemm", 0.5))
    with pytest.raises(ValueError, match="takes names of device work"):
        torchtraceap.what_if(report, edits.scale(LOADER, 0.5))
    with pytest.raises(ValueError, match="no finding is '42'"):
        torchtraceap.what_if(report, "42")
    with pytest.raises(ValueError, match="no finding is 'sync_stal'"):
        torchtraceap.what_if(report, "sync_stal")
    with pytest.raises(ValueError, match="from 0 to 1"):
        edits.scale("*", 2)
    with pytest.raises(TypeError, match="but this is 3"):
        torchtraceap.what_if(report, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one trace"):
        torchtraceap.what_if([RESNET])  # type: ignore[arg-type]


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path: Path) -> None:
    source, out = tmp_path / "source.json", tmp_path / "out.json"
    source.write_bytes(gzip.decompress(RESNET.read_bytes()))
    result = torchtraceap.what_if(torchtraceap.analyze(source))
    out.write_text("kept")
    source.write_text("{}")
    with pytest.raises((ValueError, OSError)):
        result.to_trace(out)
    assert out.read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "source.json"]


def test_what_if_counts_on_what_analyze_counts_on(
    report: torchtraceap.Report,
) -> None:
    for finding in report.findings:
        gain = torchtraceap.what_if(report, finding.id).gain
        assert gain is not None
        assert gain.high_us == finding.recoverable_us
        assert gain.low_us == finding.recoverable_low_us
    guess = torchtraceap.what_if(report, edits.scale("*", 0.5)).gain
    assert guess is not None
    assert guess.low_us == 0 < guess.high_us


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


def test_a_trace_that_contradicts_itself_has_no_gain(tmp_path: Path) -> None:
    """Rows of events recorded after their waits tie two streams to each other."""

    def row(cat: str, name: str, tid: int, ts: int, dur: int, **args: int) -> object:
        return {
            **{"ph": "X", "cat": cat, "name": name, "pid": 100, "tid": tid},
            **{"ts": ts, "dur": dur, "args": args},
        }

    def call(name: str, ts: int, correlation: int) -> object:
        return row("cuda_runtime", name, 1, ts, 1, correlation=correlation)

    def device(cat: str, stream: int, ts: int, dur: int, **args: int) -> object:
        return {
            **{"ph": "X", "cat": cat, "name": cat, "pid": 0, "tid": stream},
            **{"ts": ts, "dur": dur},
            "args": {"device": 0, "stream": stream, **args},
        }

    record = "wait_on_cuda_event_record_corr_id"
    rows = [
        call("cudaStreamWaitEvent", 0, 1),
        call("cudaStreamWaitEvent", 2, 2),
        call("cudaLaunchKernel", 4, 3),
        call("cudaLaunchKernel", 10, 4),
        call("cudaEventRecord", 16, 5),
        call("cudaEventRecord", 18, 6),
        device("kernel", 7, 20, 2, correlation=3),
        device("kernel", 20, 19, 4, correlation=4),
        device("cuda_sync", 7, 1, 1, correlation=1, wait_on_stream=20, **{record: 6}),
        device("cuda_sync", 20, 2, 1, correlation=2, wait_on_stream=7, **{record: 5}),
    ]
    path = tmp_path / "circle.json"
    path.write_text(json.dumps({"traceEvents": rows}))
    report = torchtraceap.analyze(path)
    assert "work waits for itself" in report.recovery.refusal
    assert "stream_wait" in report.recovery.refusal
    assert report.recovery.fidelity is None
    assert report.recovery.together is None
    assert not any(report.recovery.gains)
    with pytest.raises(ValueError, match="work waits for itself"):
        torchtraceap.what_if(report, edits.scale("*", 0.5))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "torchtraceap", "whatif", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_prints_the_unchanged_replay_as_json() -> None:
    done = run(str(RESNET), "--json", "-")
    assert done.returncode == 0, done.stderr
    form = json.loads(done.stdout)
    assert form["edits"] == []
    assert form["gain"] is None
    assert form["span_us"] > 0
    assert abs(form["replayed_span_us"] / form["span_us"] - 1) < 0.002
    assert {"number", "span_us", "replayed_span_us"} <= form["steps"][0].keys()
    assert form["fidelity"]["replayable"] is True
    assert sum(form["fidelity"]["shares"].values()) == pytest.approx(1)


def test_the_command_takes_several_edits() -> None:
    both = run(str(RESNET), "--drop", "dataloader_bound", "--scale", "*sgemm*=0.5")
    assert both.returncode == 0, both.stderr
    assert "Gain" in both.stdout
    assert "step 5" in both.stdout


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
    with pytest.raises(ValueError, match="cannot be written: No space left"):
        result.to_trace("/dev/full")
    with pytest.raises(ValueError, match="cannot be written: No such file"):
        result.to_trace(tmp_path / "missing" / "fixed.json")
    with pytest.raises(ValueError, match="gz"):
        result.to_trace(tmp_path / "fixed.json.gz")
    with pytest.raises(ValueError, match="trace itself"):
        result.to_trace(RESNET)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scale", "x"),
        ("--scale", "x=2"),
        ("--scale", "=0.5"),
        ("--drop", "nothing_of_the_kind"),
        ("--hide", "no such event"),
        ("--json", str(RESNET)),
    ],
)
def test_bad_usage_is_a_message(arguments: tuple[str, ...]) -> None:
    done = run(str(RESNET), *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_a_file_that_is_no_trace_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    done = run(str(path))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
