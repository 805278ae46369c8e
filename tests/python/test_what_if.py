# SPDX-License-Identifier: BSD-3-Clause
"""test_what_if.py: replays with changes, from Python and from the command line; the
edits that users make and those that fixes are."""

from __future__ import annotations

import contextlib
import fnmatch
import inspect
import json
import random
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Report, _core, edits

from .conftest import Cli
from .pages import page
from .real_traces import DATA
from .trace_builder import Event, call, kernel, launched, report_of

RESNET = DATA / "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = DATA / "mi250-rocm62-tiny.json.gz"
LOADER = "enumerate(DataLoader)*"


@pytest.fixture
def report(slow_loader: Report) -> Report:
    return slow_loader


def test_the_loader_is_priced_near_what_workers_gained(report: Report) -> None:
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


def test_a_pattern_a_place_and_an_id_name_the_same_finding(report: Report) -> None:
    loader = next(f for f in report.findings if f.pattern == "dataloader_bound")
    by_name = torchtraceap.what_if(report, "dataloader_bound").gain
    by_id = torchtraceap.what_if(report, loader.id).gain
    assert by_name == by_id
    assert by_name.middle_us == loader.recoverable_us
    assert by_name.high_us == loader.recoverable_high_us
    assert by_name.low_us == loader.recoverable_low_us
    at = torchtraceap.what_if(report, "resnet50_profiler_api.py:42").gain
    assert at == by_name
    guess = torchtraceap.what_if(report, edits.scale("*", 0.5)).gain
    assert guess.low_us == 0 < guess.high_us


def test_findings_together_gain_no_more_than_the_trace_has(report: Report) -> None:
    together = report.recovery.together
    gains = [g.high_us for g in report.recovery.gains if g]
    assert max(gains) <= together.high_us < report.trace.span_us
    assert together.low_us <= together.high_us
    everything = torchtraceap.what_if(report, *(f.id for f in report.findings))
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
    report: Report, edit: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        torchtraceap.what_if(report, edit)


def test_other_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        edits.scale("*", 2)
    with pytest.raises(TypeError, match="one trace"):
        torchtraceap.what_if([RESNET])  # type: ignore[arg-type]


def test_an_untested_replay_says_so(report: Report) -> None:
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


def test_the_command_prints_the_unchanged_replay_as_json(cli: Cli) -> None:
    form = json.loads(cli("whatif", RESNET, "--json", "-").fine())
    assert form["edits"] == []
    assert form["gain"] is None
    assert form["span_us"] > 0
    assert abs(form["replayed_span_us"] / form["span_us"] - 1) < 0.002
    assert {"number", "span_us", "replayed_span_us"} <= form["steps"][0].keys()
    assert form["fidelity"]["replayable"] is True
    assert sum(form["fidelity"]["shares"].values()) == pytest.approx(1)


def test_the_changed_timeline_is_a_trace(report: Report, tmp_path: Path) -> None:
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
def test_bad_usage_is_a_message(cli: Cli, arguments: tuple[str, ...]) -> None:
    code, _, err = cli("whatif", TINY, *arguments)
    assert code == 2 and err.strip() and "Traceback" not in err


# --- Edits ----------------------------------------------------------------------------

PAGE = page("replay")


def test_each_edit_is_a_function_with_the_same_name() -> None:
    with pytest.raises(ValueError, match="there are: ") as refused:
        _core.Edit("", [])
    for kind in str(refused.value).partition("there are: ")[2].split(", "):
        make = getattr(edits, kind)
        arguments = {"name": "x", "what": "x", "factor": 0.5}
        takes = inspect.signature(make).parameters
        made = make(**{k: v for k, v in arguments.items() if k in takes})
        assert made.kind == kind
        assert f"| `{kind}(" in PAGE


def matched(
    pattern: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """Return which names an edit of this name is made of; none raises in core_edits."""
    asked: list[int] = []
    monkeypatch.setattr(_core, "Edit", lambda _kind, of, _factor: asked.extend(of))
    report: Any = SimpleNamespace(loaded=SimpleNamespace(strings=names))
    with contextlib.suppress(ValueError):
        edits.core_edits(report, [edits.hide(pattern)])
    return {names[i] for i in asked}


def test_names_are_compared_as_file_names_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of letters that mean nothing to fnmatch its answers are the truth."""
    draw = random.Random(0)
    words = ["".join(draw.choices("ab\n", k=draw.randint(0, 9))) for _ in range(400)]
    assert "" in words
    for _ in range(2000):
        pattern = "".join(draw.choices("ab\n**", k=draw.randint(0, 8)))
        truth = {word for word in words if fnmatch.fnmatchcase(word, pattern)}
        assert matched(pattern, words, monkeypatch) == truth, pattern
    odd = ["a.c", "abc", "[ab]c", "a?c", "aXc"]
    assert matched("a.c", odd, monkeypatch) == {"a.c"}
    assert matched("a?*", odd, monkeypatch) == {"a?c"}
    assert matched("[ab]*", odd, monkeypatch) == {"[ab]c"}


def test_hostile_names_do_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """To try each star at each place again would take longer than anyone waits."""
    long = "a" * 10_000
    names = [long, long + "b", "ab" * 5_000, "b" + long]
    assert matched("*a" * 30 + "*b", names, monkeypatch) == {names[1], names[2]}
    assert matched("*aa" * 30 + "*c", names, monkeypatch) == set()
    assert matched("*" * 30, names, monkeypatch) == set(names)


def test_the_page_lists_each_pattern_under_its_edit() -> None:
    table = PAGE.partition("## What a gain is\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", table, re.M))
    meaning = dict(re.findall(r"^\| `(\w+)` \| (.*) \| .* \|$", table, re.M))
    for name, what in _core.pattern_edits():
        patterns = {p.name for p in _core.patterns() if p.edit == name}
        assert meaning[name] == what
        if name == "shorten":
            assert rows[name] == "all others"
        else:
            assert set(re.findall(r"`(\w+)`", rows[name])) == patterns


def test_findings_name_their_edit(workers: Report) -> None:
    by_name = {p.name: p.edit for p in _core.patterns()}
    assert workers.findings
    for finding in workers.findings:
        assert finding.edit == by_name[finding.pattern]
        found = torchtraceap.what_if(workers, edits.fix(finding.id)).gain
        expected = (finding.recoverable_us, finding.recoverable_low_us)
        assert (found.middle_us, found.low_us) == expected
    first = workers.findings[0]
    assert torchtraceap.what_if(workers, first).edits == (edits.fix(first.id),)


def test_what_overlaps_is_scheduled_by_events(workers: Report) -> None:
    copies = torchtraceap.what_if(workers, edits.overlap("Memcpy HtoD*"))
    assert copies.engine == "events"
    assert copies.critical_path == {}
    # The same constants and causes: unchanged, both engines come to the same span.
    unchanged = torchtraceap.what_if(workers)
    assert unchanged.engine == "graph"
    assert copies.replayed_span_us == pytest.approx(
        unchanged.replayed_span_us, rel=0.01
    )
    assert [s.number for s in copies.steps] == [s.number for s in unchanged.steps]
    for step, same in zip(copies.steps, unchanged.steps, strict=True):
        assert step.replayed_span_us == pytest.approx(same.replayed_span_us, rel=0.02)


def test_the_command_takes_each_edit(cli: Cli) -> None:
    trace = DATA / "h100-vit-nsfw-inference.json.gz"
    options = ["--capture", "aten::*", "--fuse", "aten::*", "--multi-tensor", "aten::*"]
    assert "Gain" in cli("whatif", trace, *options).fine()
    code, _, err = cli("whatif", trace, *options, "--bucket", "aten::linear")
    assert code == 2 and "bucket takes names of collectives" in err
