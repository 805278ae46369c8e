# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_disturbed.py: ``torchtraceap.profile`` and what comes between.

Other profilers, other threads, forks, errors and a program's end. What may crash torch
runs in a process of its own.
"""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import pytest

import torchtraceap

from . import other_project
from .torch_forks import TorchForks

torch = pytest.importorskip("torch")

from .small_work import (  # noqa: E402
    CPU,
    loop,
    profile_elsewhere,
    steps_of,
    work,
)


@pytest.mark.parametrize("outer", ["ours", "torch's", "itself"])
def test_nested_in_another_one_is_refused(outer: str) -> None:
    prof = torchtraceap.profile(wait=0, warmup=0, quiet=True)
    around = {
        "ours": torchtraceap.profile(wait=0, warmup=0, quiet=True),
        "torch's": torch.profiler.profile(activities=CPU),
        "itself": prof,
    }[outer]
    with around:
        work()
        match = "cannot be nested" if outer == "itself" else "another profiler is runn"
        with pytest.raises(RuntimeError, match=match), prof:
            pass
    work()
    assert torchtraceap.analyze(around).operators  # the outer one is unharmed
    assert steps_of(loop(5, quiet=True)) == [[2, 3, 4]]


def test_refused_while_another_thread_profiles() -> None:
    """torch itself would crash there."""
    begun, done = threading.Event(), threading.Event()

    def other() -> None:
        with torch.profiler.profile(activities=CPU):
            begun.set()
            done.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(30)
    try:
        with pytest.raises(RuntimeError, match="another profiler is running"):
            torchtraceap.profile().start()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("at", range(5))
def test_another_profiler_inside(at: int) -> None:
    """In step 1, the warm-up, torch itself would crash."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torchtraceap.profile(quiet=True) as prof:
            for step in range(6):
                work()
                if step == at:
                    profile_elsewhere()
                prof.step()
    texts = [str(w.message) for w in caught if w.category is RuntimeWarning]
    if at < 2:
        assert steps_of(prof) == [[2, 3, 4]]
        assert texts == []
    else:
        assert prof.reports == []
        assert len(texts) == 1
        assert "only one profiler at a time" in texts[0]


@pytest.mark.parametrize("at", range(5))
def test_another_profiler_that_runs_on(at: int) -> None:
    with torchtraceap.profile(quiet=True) as prof:
        with pytest.warns(RuntimeWarning, match="another profiler was started"):
            for step in range(6):
                work()
                if step == at:
                    other = torch.profiler.profile(activities=CPU)
                    other.start()
                prof.step()
        assert not prof.is_running
    work()
    other.stop()
    assert torchtraceap.analyze(other).operators  # it is unharmed


def test_a_step_from_another_thread_is_ignored() -> None:
    with torchtraceap.profile(quiet=True) as prof:
        with pytest.warns(RuntimeWarning, match="only the thread that started"):
            thread = threading.Thread(target=prof.step)
            thread.start()
            thread.join()
        for _ in range(5):
            work()
            prof.step()
    assert steps_of(prof) == [[2, 3, 4]]


def test_a_thread_that_ends_without_stop() -> None:
    """Another one can end it, and others can begin."""
    for end in (lambda prof: prof.stop(), lambda prof: prof.step(), None):
        prof = torchtraceap.profile(quiet=True)
        thread = threading.Thread(target=lambda prof=prof: (prof.start(), work()))
        thread.start()
        thread.join()
        assert prof.is_running
        if end is not None:
            with pytest.warns(RuntimeWarning, match="thread that started it is over"):
                end(prof)
            assert not prof.is_running
        assert steps_of(loop(5, quiet=True)) == [[2, 3, 4]]
        if end is None:
            with pytest.warns(RuntimeWarning, match="thread that started it is over"):
                prof.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_leaves_the_profile_to_its_parent() -> None:
    with torchtraceap.profile(quiet=True) as prof:
        for step in range(5):
            work()
            if step == 2:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of forks beside threads
                    pid = os.fork()
                if pid == 0:  # what is not ignored here would crash or warn
                    code = 1
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("error")
                            prof.step()
                            prof.stop()
                        code = 0 if prof.is_running and not prof._steps > 2 else 2
                    finally:
                        os._exit(code)
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            prof.step()
    assert steps_of(prof) == [[2, 3, 4]]


def test_what_is_raised_inside_comes_out_after_the_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyError, match="mine"), torchtraceap.profile() as prof:
        for step in range(8):
            work()
            if step == 3:
                raise KeyError("mine")
            prof.step()
    assert str(prof.report) in capsys.readouterr().out
    assert not torch.autograd._profiler_enabled()
    assert steps_of(loop(5, quiet=True)) == [[2, 3, 4]]  # the next one works


def test_warnings_made_errors_end_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(report: object) -> None:
        raise KeyError("mine")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prof = loop(6, quiet=True, callbacks=fails)
    assert steps_of(prof) == [[2, 3, 4]]
    err = capsys.readouterr().err
    assert "RuntimeWarning: torchtraceap: the callback" in err
    assert "KeyError" in err


def test_a_program_that_ends_without_stop(
    torch_forks: TorchForks, tmp_path: Path
) -> None:
    code = """if True:
        import torch, torchtraceap
        prof = torchtraceap.profile(wait=0, warmup=0)
        prof.start()
        torch.ones(3).sum().item()
    """
    ended = torch_forks.run(code, cwd=tmp_path, warn="error")
    assert ended.code == 0 and "Warning" not in ended.err
    assert ended.out.startswith("<profiler: step 0>\n")


# --- Profilers of other threads, which make torch crash -------------------------------

pytest.importorskip("torch")

# A profiler of another thread begins in step `at` and is over at once, or runs on into
# the step after; then profilers of this thread are tried.
INTRUDED = """
import threading, torch, torchtraceap

def work():
    torch.ones(3) + 1

def session(at, runs_on):
    begun, go = threading.Event(), threading.Event()
    other = []
    def profile():
        with torch.profiler.profile(with_stack=True) as prof:
            work()
            begun.set()
            if runs_on:
                go.wait(30)
        other.append(sum(event.name == "aten::add" for event in prof.events()))
    thread = threading.Thread(target=profile)
    with torchtraceap.profile(active=2, quiet=True) as prof:
        for step in range(6):
            if step == at:
                thread.start()
                begun.wait(30)
                if not runs_on:
                    thread.join()
            work()
            prof.step()
            if runs_on and step == at + 1:
                go.set()
                thread.join()
    with torch.profiler.profile() as after:
        work()
    assert [event.name for event in after.events()].count("aten::add") == 1
    assert not torch.autograd._profiler_enabled()
    print([[s.number for s in r.steps] for r in prof.reports], other)
"""


# What follows it, the lines that are printed, and how often is warned of a loss.
SESSIONS = {
    # Before the recording it does no harm.
    "before": ("session(0, False); session(1, False)", ["[[2, 3]] [1]"] * 2, 0),
    # During the recording the cycle is lost.
    "during": ("session(2, False); session(3, False)", ["[] [1]"] * 2, 2),
    # What torch keeps of ours is stopped when the one that runs on is over.
    "runs on": ("session(0, True); session(2, True)", ["[] [1]"] * 2, 2),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_profiler_of_another_thread(
    torch_forks: TorchForks, tmp_path: Path, name: str
) -> None:
    code, lines, losses = SESSIONS[name]
    ended = torch_forks.run(INTRUDED + code, cwd=tmp_path, warn="always")
    assert ended.code == 0, ended.err[-3000:]
    assert ended.out.splitlines() == lines
    told = "another profiler was started while this one ran"
    assert ended.err.count(told) == losses
    assert ended.err.count("RuntimeWarning: torchtraceap") == losses


def test_what_is_left_of_a_decorators_session(
    torch_forks: TorchForks, tmp_path: Path
) -> None:
    code = """
step = torchtraceap.profile_steps(work)
begun, go = threading.Event(), threading.Event()
def profile():
    with torch.profiler.profile():
        begun.set()
        go.wait(30)
thread = threading.Thread(target=profile)
thread.start()
begun.wait(30)
go.set()
thread.join()
begun.clear(), go.clear()
thread = threading.Thread(target=profile)
def first():
    thread.start()
    begun.wait(30)
step = torchtraceap.profile_steps(wait=0, warmup=0)(lambda call: call())
step(first)
step(work)
print(torch.autograd._profiler_enabled())
go.set()
thread.join()
step(work)
print(torch.autograd._profiler_enabled())
"""
    ended = torch_forks.run(INTRUDED + code, cwd=tmp_path)
    assert ended.code == 0, ended.err[-3000:]
    assert ended.out.splitlines() == ["True", "False"]


TESTS = """
import torch, threading

def profile():
    with torch.profiler.profile():
        torch.ones(3) + 1

def elsewhere():
    thread = threading.Thread(target=profile)
    thread.start()
    thread.join()

def warmed_up(trace_check, use):
    with trace_check(warmup=1) as check:
        use()
        check.step()
        torch.ones(3) + 1
        check.step()
    assert [o.count for o in check.report.operators if o.name == "aten::add"] == [1]
    check.no("graph_break")

def test_warm_up_elsewhere(trace_check):
    warmed_up(trace_check, elsewhere)

def recorded(trace_check, use, steps):
    with trace_check() as check:
        use()
        for _ in range(steps):
            check.step()
    check.no("graph_break")

def test_recorded_elsewhere(trace_check):
    recorded(trace_check, elsewhere, 0)

def test_recorded_elsewhere_with_steps(trace_check):
    recorded(trace_check, elsewhere, 2)

def test_next(trace_check):
    warmed_up(trace_check, lambda: None)
"""


LOST = other_project.failed("E *RuntimeError: nothing was recorded: the code*")
OF_TESTS: other_project.Table = {
    **other_project.passed("test_warm_up_elsewhere", "test_next"),
    "test_recorded_elsewhere": LOST,
    "test_recorded_elsewhere_with_steps": LOST,
}


def test_a_profiler_in_the_code_that_trace_check_records(
    torch_forks: TorchForks, tmp_path: Path
) -> None:
    ran = other_project.run(torch_forks, tmp_path, {"test_it.py": TESTS}, strict=False)
    ran.is_as(OF_TESTS)
