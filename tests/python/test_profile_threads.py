# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_threads.py: profilers of other threads, which make torch crash.

What may crash runs in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from . import other_project
from .torch_forks import TorchForks

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
