# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_sessions.py: ``torchtraceap.profile`` around loops of all kinds.

What comes between (other profilers, threads, forks, errors): test_profile_disturbed.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

from . import small_work  # noqa: E402
from .small_work import CPU, loop, steps_of, work  # noqa: E402

# --- As it is meant ---------------------------------------------------------------


def test_one_minute(capsys: pytest.CaptureFixture[str]) -> None:
    """The defaults: two steps left out, three recorded, told at once and once."""
    with torchtraceap.profile() as prof:
        for step in range(8):
            work()
            prof.step()
            if step == 4:
                told = capsys.readouterr()
                assert told.out.startswith("<profiler: steps 2 to 4>\n")
                assert prof.report is not None
                assert not prof.is_running
    after = capsys.readouterr()
    assert "torchtraceap" not in after.out + told.err + after.err
    assert steps_of(prof) == [[2, 3, 4]]
    assert told.out.rstrip("\n") == str(prof.report)
    names = prof.report.loaded.strings
    assert any("test_profile_sessions.py" in name for name in names), "no stacks"


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    prof = loop(5, verbosity=2)
    out = capsys.readouterr().out
    assert prof.report.summary(windows=True) in out
    assert prof.report.tables() in out


EVERY_10 = {"every": 10, "active": 2}
OWN_PLAN = torch.profiler.schedule(wait=2, warmup=1, active=1, repeat=2, skip_first=1)


@pytest.mark.parametrize(
    ("steps", "options", "recorded"),
    [
        (14, {"wait": 1, "active": 2, "repeat": 3}, [[2, 3], [6, 7], [10, 11]]),
        # Without an end only the last reports are kept.
        (20, {"wait": 0, "active": 1, "repeat": 0, "keep": 3}, [[15], [17], [19]]),
        (10, {"schedule": OWN_PLAN}, [[4], [8]]),
        # Of a cycle without a step nothing is reported.
        (5, {"active": 2, "repeat": 0}, [[2, 3]]),
        (6, {"active": 2, "repeat": 0}, [[2, 3]]),
        (7, {"active": 2, "repeat": 0}, [[2, 3], [6]]),
        (8, {"active": 2, "repeat": 0}, [[2, 3], [6, 7]]),
        (9, {"active": 2, "repeat": 0}, [[2, 3], [6, 7]]),
        (18, {**EVERY_10, "wait": 0}, [[1, 2], [11, 12]]),
        (18, {**EVERY_10, "wait": 5}, [[6, 7], [16, 17]]),
        (10, {"every": 3, "active": 2}, [[2, 3], [5, 6], [8, 9]]),
        (40, {**EVERY_10, "repeat": 2}, [[2, 3], [12, 13]]),
        # Two steps in, the warm-up is over and the first recorded step begun.
        (12, EVERY_10, [[2, 3]]),
        (13, EVERY_10, [[2, 3], [12]]),
    ],
)
def test_which_steps_are_recorded(
    steps: int,
    options: dict[str, Any],
    recorded: list[list[int]],
    recwarn: pytest.WarningsRecorder,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a word of torch, or of ours."""
    assert steps_of(loop(steps, quiet=True, **options)) == recorded
    assert not recwarn.list and capsys.readouterr().out == ""


def test_options_reach_torch() -> None:
    prof = loop(5, quiet=True, profile_memory=True, with_stack=False, activities=CPU)
    assert prof.profile_memory is True
    assert prof.with_stack is False
    assert prof.record_shapes is True
    assert "[memory]" in prof.report.loaded.strings
    assert "python_function" not in {
        torchtraceap._core.category_names()[c]
        for c in prof.report.loaded.columns["category"]
    }


def test_it_is_torchs_profiler_too(tmp_path: Path) -> None:
    prof = loop(5, quiet=True)
    for name in ("a.json", "b.json"):
        prof.export_chrome_trace(str(tmp_path / name))
        assert torchtraceap.load(tmp_path / name).columns["ts"].size == (
            prof.report.trace.events
        )
    assert "aten::mm" in prof.key_averages().table()
    assert torchtraceap.analyze(prof).trace.events == prof.report.trace.events


@pytest.mark.cuda
def test_a_gpu_is_recorded_without_asking() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    x = torch.randn(256, 256, device="cuda")
    with torchtraceap.profile(quiet=True) as prof:
        for _ in range(6):
            (x @ x).sum().item()
            prof.step()
    assert steps_of(prof) == [[2, 3, 4]]
    assert prof.report.kernels
    assert prof.report.trace.working_devices


# --- As it is not meant -----------------------------------------------------------


def test_the_whole_block(
    capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """As the warning says."""
    with torchtraceap.profile(wait=0, warmup=0) as prof:
        for _ in range(7):
            work()
    items = [o.count for o in prof.report.operators if o.name == "aten::item"]
    assert items == [7]
    out = " ".join(capsys.readouterr().out.split())
    assert "The cycle is incomplete: step() was never called" in out
    assert not recwarn.list


@pytest.mark.parametrize(
    ("steps", "called", "advice"),
    [
        (
            0,
            "never called",
            "Call prof.step() after each step, or record the whole block with "
            "wait=0, warmup=0.",
        ),
        (1, "called once", "Make more steps, or lower wait and warmup."),
        (2, "called 2 times", "Make more steps, or lower wait and warmup."),
    ],
)
def test_too_few_steps(steps: int, called: str, advice: str) -> None:
    with pytest.warns(RuntimeWarning) as caught:
        prof = loop(steps, quiet=True)
    (warning,) = caught
    assert str(warning.message) == (
        f"torchtraceap: step() was {called}, but the schedule (wait=1, warmup=1, "
        "active=3) needs 3 for a first recorded step and 5 for a whole cycle. "
        f"Nothing was recorded. {advice}"
    )
    assert warning.filename == small_work.__file__
    assert prof.report is None
    assert prof.reports == []


def test_an_incomplete_cycle_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    prof = loop(4)
    assert steps_of(prof) == [[2, 3]]
    out = " ".join(capsys.readouterr().out.split())
    assert "The cycle is incomplete: step() was called 4 times" in out


def test_a_step_that_is_only_begun_is_none() -> None:
    """For each profiler that torchtraceap reads; a step with work in it counts."""
    with torch.profiler.profile(
        activities=CPU,
        schedule=lambda step: torch.profiler.ProfilerAction.RECORD,
        with_stack=True,
    ) as prof:
        for _ in range(2):
            work()
            prof.step()
    report = torchtraceap.analyze(prof)
    assert [step.number for step in report.steps] == [0, 1]
    assert report.quality.verdict == "ok"
    assert not report.quality.warnings
    with torch.profiler.profile(activities=CPU, schedule=prof.schedule) as prof:
        for _ in range(2):
            prof.step()
            work()
    # Of the first one, which is over, torch says that there was a step.
    assert [step.number for step in torchtraceap.analyze(prof).steps] == [0, 1, 2]


def test_step_at_the_begin_of_the_loop() -> None:
    """The last step is over when the block is."""
    with torchtraceap.profile(active=1, quiet=True) as prof:
        for _ in range(2):
            prof.step()
            work()
    items = [o.count for o in prof.report.operators if o.name == "aten::item"]
    assert items == [1]
    assert steps_of(prof) == [[2]]


def test_a_schedule_that_never_records() -> None:
    with pytest.warns(RuntimeWarning, match="does not record in the first 10,000"):
        prof = loop(
            3, schedule=lambda step: torch.profiler.ProfilerAction.NONE, quiet=True
        )
    assert prof.report is None


def test_an_empty_block() -> None:
    with torchtraceap.profile(wait=0, warmup=0, quiet=True) as prof:
        pass
    assert not prof.report.operators


def test_twice() -> None:
    prof = torchtraceap.profile(quiet=True)
    for _ in range(2):
        with prof:
            for _ in range(5):
                work()
                prof.step()
    assert steps_of(prof) == [[2, 3, 4], [2, 3, 4]]


def test_step_before_the_start_and_after_the_end() -> None:
    prof = torchtraceap.profile(quiet=True)
    with pytest.raises(RuntimeError, match="before the profile was started"):
        prof.step()
    with pytest.raises(AttributeError, match="before its start"):
        prof.export_chrome_trace("nowhere")
    with prof:
        for _ in range(5):
            work()
            prof.step()
    prof.step()
    prof.stop()
    assert steps_of(prof) == [[2, 3, 4]]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"with_stak": True}, TypeError, "'with_stak': did you mean 'with_stack'"),
        ({"actve": 3}, TypeError, "did you mean 'active'"),
        ({"active": 0}, ValueError, "active must be at least 1"),
        ({"every": 3}, ValueError, r"every must be at least 4, .*\(warmup=1, active=3"),
        ({"every": 0}, ValueError, "every must be at least 1"),
        ({"every": 9.5}, TypeError, "every must be an int"),
        # torch would keep the events of all cycles.
        ({"every": 10, "acc_events": True}, ValueError, "acc_events keeps the events"),
        (
            {"every": 50, "schedule": OWN_PLAN},
            ValueError,
            "schedule and every both say",
        ),
        ({"wait": -1}, ValueError, "wait must be at least 0"),
        ({"warmup": 1.5}, TypeError, "warmup must be an int"),
        ({"schedule": 5}, TypeError, "schedule must be callable"),
        ({"formats": ["json"]}, ValueError, "need a folder"),
        ({"folder": "x", "formats": ["jsn"]}, ValueError, "did you mean 'json'"),
        ({"verbosity": 3}, ValueError, "verbosity must be at most 2"),
        ({"max_events": 0}, ValueError, "max_events"),
        (
            {"on_trace_ready": torchtraceap.Analyzer()},
            TypeError,
            "the options of the Analyzer instead",
        ),
        ({"callbacks": 3}, TypeError, "callbacks must be a function or several, but"),
        ({"folder": "x", "formats": 3}, TypeError, "formats must be names of formats"),
        ({"activities": ["cpu"]}, TypeError, "must be a list of .* type str"),
        ({"activities": []}, TypeError, "activities must be a list .* it is empty"),
        ({"schedule": lambda step: None}, TypeError, "must return a torch.profiler.P"),
        ({"callbacks": [3]}, TypeError, "callbacks must be functions, one is of type"),
        ({"name": "../x", "folder": "x"}, ValueError, "name must be"),
        ({"budget": {"mxa_gap_us": 1}}, ValueError, "max_gap_us"),
    ],
)
def test_wrong_options_are_refused_at_once(
    options: dict[str, Any], error: type[Exception], match: str, here: Path
) -> None:
    with pytest.raises(error, match=match):
        torchtraceap.profile(**options)
    assert list(here.iterdir()) == []
