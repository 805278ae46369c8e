# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_analyzer.py: ``torchtraceap.Analyzer``, a handler with options."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
import torchtraceap.views.outputs
from torchtraceap.profiling import cycle_files

torch = pytest.importorskip("torch")
from torch.profiler import (  # noqa: E402
    profile,
    schedule,
    tensorboard_trace_handler,
)

from .small_work import CPU, SEVERAL_CYCLES, work  # noqa: E402

pytestmark = SEVERAL_CYCLES


def train(handler: Callable[[Any], object], cycles: int = 1, **options: Any) -> Any:
    plan = schedule(wait=0, warmup=1, active=2, repeat=cycles)
    with profile(
        activities=CPU, schedule=plan, on_trace_ready=handler, **options
    ) as prof:
        for _ in range(3 * cycles):
            work()
            prof.step()
    return prof


def quiet(*arguments: Any, **options: Any) -> torchtraceap.Analyzer:
    return torchtraceap.Analyzer(*arguments, verbosity=0, **options)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- What it makes ----------------------------------------------------------------


def test_every_cycle_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    handler = torchtraceap.Analyzer()
    train(handler, 3)
    out = capsys.readouterr().out
    assert [[s.number for s in r.steps] for r in handler.reports] == [
        [1, 2],
        [4, 5],
        [7, 8],
    ]
    assert out.count("<profiler: steps ") == 3
    assert handler.report is handler.reports[-1]
    assert str(handler.report) in out


def test_files_of_every_cycle(tmp_path: Path) -> None:
    train(quiet(tmp_path, formats=["trace", "json"]), 2)
    assert names(tmp_path) == [
        "report-step3.json",
        "report-step3.pt.trace.json.gz",
        "report-step6.json",
        "report-step6.pt.trace.json.gz",
    ]
    for step in (3, 6):
        trace = tmp_path / f"report-step{step}.pt.trace.json.gz"
        form = json.loads((tmp_path / f"report-step{step}.json").read_text())
        assert form["trace"]["path"] == str(trace)
        assert torchtraceap.analyze(trace).trace.events == form["trace"]["events"]


def test_the_usual_formats(tmp_path: Path) -> None:
    train(quiet(tmp_path))
    assert names(tmp_path) == ["report-step3.html", "report-step3.json"]


def test_every_format_of_the_table(tmp_path: Path) -> None:
    """Whatever the program can write, an Analyzer can."""
    # But what needs a detector, which is off in tests.
    forms = [
        form for form in torchtraceap.views.outputs.OUTPUTS if form.name != "review"
    ]
    train(quiet(tmp_path, formats=["trace", *(form.name for form in forms)]))
    for output in forms:
        suffix = output.suffix or f"-{output.name}"
        assert (tmp_path / f"report-step3{suffix}").exists(), output.name


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report-step3.json").write_text("mine")
    for _ in range(2):
        train(quiet(tmp_path, formats=["json", "trace"]))
    assert (tmp_path / "report-step3.json").read_text() == "mine"
    assert names(tmp_path) == [
        "report-step3-2.json",
        "report-step3-2.pt.trace.json.gz",
        "report-step3-3.json",
        "report-step3-3.pt.trace.json.gz",
        "report-step3.json",
    ]


def test_many_processes_claim_different_names(tmp_path: Path) -> None:
    code = f"""if True:
        from torchtraceap.views.outputs import Output
        from torchtraceap.profiling.cycle_files import _claim
        wanted = [Output(name, suffix, "") for name, suffix in
                  (("a", ".a"), ("b", ".b"), ("c", ""), ("d", ""))]
        for _ in range(50):
            for path in _claim({str(tmp_path)!r}, "x", wanted):
                print(path)
    """
    command = [sys.executable, "-c", code]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    lines = [line for run in running for line in run.communicate()[0].split()]
    assert len(lines) == len(set(lines)) == 4 * 50 * 4
    assert set(lines) == {str(path) for path in tmp_path.iterdir()}


def test_ranks_write_their_own_and_only_the_first_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    printed = []
    for rank in ("0", "3"):
        monkeypatch.setenv("RANK", rank)
        train(torchtraceap.Analyzer(tmp_path, formats=["json"]))
        printed.append(capsys.readouterr().out)
    assert printed[0].startswith("<profiler: steps ") and printed[1] == ""
    assert names(tmp_path) == ["report-rank0-step3.json", "report-rank3-step3.json"]
    monkeypatch.setenv("WORLD_SIZE", "1")
    train(quiet(tmp_path, formats=["json"]))
    assert "report-step3.json" in names(tmp_path)


# --- Beside other handlers --------------------------------------------------------


@pytest.mark.parametrize("gz", [False, True])
def test_then_tensorboards(tmp_path: Path, gz: bool) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    to_tensorboard = tensorboard_trace_handler(str(log), "w", use_gzip=gz)
    handler = quiet(out, formats=["trace"], then=to_tensorboard)
    train(handler, 2)
    theirs = sorted(log.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    ours = sorted(out.iterdir())
    assert len(theirs) == len(ours) == 2
    for path, mine, report in zip(theirs, ours, handler.reports, strict=True):
        a, b = torchtraceap.load(path), torchtraceap.load(mine)
        assert a.columns["ts"].tolist() == b.columns["ts"].tolist()
        assert a.strings == b.strings
        assert report.trace.events == a.columns["ts"].size


def test_callbacks_and_handlers_in_order() -> None:
    seen: list[Any] = []
    handler = quiet(
        callbacks=[lambda report: seen.append(("a", report)), seen.append],
        then=[lambda prof: seen.append(prof.step_num), lambda prof: seen.append("z")],
    )
    train(handler)
    report = handler.report
    assert seen == [("a", report), report, 3, "z"]


def test_what_others_raise_does_not_end_the_run(tmp_path: Path) -> None:
    def broken(_: object) -> None:
        raise LookupError("their\x1b[31m fault")

    seen: list[Any] = []
    handler = quiet(callbacks=[broken, seen.append], then=[broken, seen.append])
    with pytest.warns(RuntimeWarning) as caught:
        prof = train(handler)
    name = "test_what_others_raise_does_not_end_the_run.<locals>.broken"
    fault = "LookupError: their\\x1b[31m fault"
    assert [str(w.message) for w in caught] == [
        f"torchtraceap: the callback {name}: {fault}",
        f"torchtraceap: the handler {name}: {fault}",
    ]
    assert {w.filename for w in caught} == {__file__}
    assert seen == [handler.report, prof]


def test_a_cycle_that_cannot_be_analyzed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace is all the more wanted, and other handlers run."""

    def broken(*_: object) -> None:
        raise torchtraceap.TraceError("what went wrong")

    monkeypatch.setattr("torchtraceap.analysis_plan.AnalysisPlan.report", broken)
    seen: list[Any] = []
    handler = quiet(tmp_path, formats=["json", "trace"], then=seen.append)
    with pytest.warns(RuntimeWarning, match="not analyzed: what went wrong"):
        prof = train(handler)
    assert handler.report is None
    assert names(tmp_path) == ["report-step3.pt.trace.json.gz"]
    assert seen == [prof]
    assert torchtraceap.load(next(tmp_path.iterdir())).columns["ts"].size > 10


def test_a_lost_recording_goes_to_no_handler() -> None:
    """Exporting it would crash the process."""
    handler = quiet(then=lambda prof: prof.export_chrome_trace("nowhere.json"))
    with (
        pytest.warns(RuntimeWarning, match="only one profiler at a time") as caught,
        profile(activities=CPU, on_trace_ready=handler),
        profile(activities=CPU),
    ):
        work()
    assert len(caught) == 1


def test_a_folder_that_goes_away(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    handler = quiet(folder, formats=["json"])
    folder.rmdir()
    train(handler)
    assert names(folder) == ["report-step3.json"]


def test_a_folder_that_becomes_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    handler = quiet(folder, formats=["json", "trace"])
    folder.rmdir()
    folder.write_text("mine")
    with pytest.warns(RuntimeWarning, match="nothing was written to .*x: "):
        train(handler)
    assert folder.read_text() == "mine"
    assert handler.report is not None


def test_a_full_disk_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cycle_files, "write_output", full)
    with pytest.warns(RuntimeWarning, match="step3.json was not written: .*No space"):
        train(quiet(tmp_path, formats=["json", "trace"]))
    assert names(tmp_path) == ["report-step3.pt.trace.json.gz"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        torchtraceap.Analyzer(tmp_path / "file")


def test_files_are_as_readable_as_others(tmp_path: Path) -> None:
    train(quiet(tmp_path, formats=["json"]))
    mask = os.umask(0)
    os.umask(mask)
    mode = stat.S_IMODE((tmp_path / "report-step3.json").stat().st_mode)
    assert mode == 0o666 & ~mask


# --- Budgets ----------------------------------------------------------------------


def test_a_broken_budget(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "budget.toml"
    file.write_text("max_step_us = 0.001\n")
    handler = torchtraceap.Analyzer(budget=file)
    with pytest.warns(RuntimeWarning, match="over budget: .*step"):
        train(handler, 2)
    assert [v.limit for v in handler.violations] == ["max_step_us"] * 2
    assert capsys.readouterr().out.count("Over budget: ") == 2


@pytest.mark.parametrize("made", [False, True])
def test_a_kept_budget(made: bool, recwarn: pytest.WarningsRecorder) -> None:
    from torchtraceap.gate.budget import read_budget

    limits = {"max_step_us": 1e9}
    handler = quiet(budget=read_budget(limits) if made else limits)
    train(handler)
    assert handler.violations == []
    assert not recwarn.list


def test_what_is_no_profiler_is_warned_of() -> None:
    with pytest.warns(RuntimeWarning, match="this cycle was not analyzed"):
        torchtraceap.Analyzer()(object())


def test_an_unknown_is_not_over_budget(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    handler = torchtraceap.Analyzer(budget={"min_busy": 0.5})
    told = pytest.warns(RuntimeWarning, match="budget undetermined: ")
    with told, torch.profiler.profile(on_trace_ready=handler):
        torch.ones(3) + 1
    out = capsys.readouterr().out
    assert "Budget undetermined: " in out
    assert "ver budget" not in out
