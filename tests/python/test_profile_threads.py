# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_threads.py: profilers of other threads, which make torch crash.

What may crash runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

# A profiler of another thread begins in step `at` and is over at once, or runs on into
# the step after; then profilers of this thread are tried.
INTRUDED = """
import threading, torch, torchtraceap

def work():
    torch.ones(3) + 1

def session(at, runs_on, reserve=True):
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
    with torchtraceap.profile(active=2, quiet=True, reserve=reserve) as prof:
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


def outcome(code: str) -> tuple[list[str], str]:
    """Runs code after INTRUDED; returns the lines it prints, and its warnings."""
    out = subprocess.run(
        [sys.executable, "-W", "always", "-c", INTRUDED + code],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert out.returncode == 0, out.stderr[-3000:]
    return out.stdout.splitlines(), out.stderr


def test_before_the_recording_it_does_no_harm() -> None:
    lines, err = outcome("session(0, False); session(1, False); session(0, False, 0)")
    assert lines == ["[[2, 3]] [1]"] * 3
    assert "RuntimeWarning: torchtraceap" not in err


def test_during_the_recording_the_cycle_is_lost() -> None:
    lines, err = outcome("session(2, False); session(3, False)")
    assert lines == ["[] [1]"] * 2
    assert err.count("another profiler was started while this one ran") == 2


def test_one_that_runs_on_is_left_alone() -> None:
    """What torch keeps of ours is stopped when it is over."""
    lines, err = outcome("session(0, True); session(2, True)")
    assert lines == ["[] [1]"] * 2
    assert err.count("another profiler was started while this one ran") == 2


def test_what_is_left_of_a_decorators_session() -> None:
    lines, _ = outcome("""
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
step = torchtraceap.profile_steps(lambda call: call())
step(first)
step(work)
print(torch.autograd._profiler_enabled())
go.set()
thread.join()
step(work)
print(torch.autograd._profiler_enabled())
""")
    assert lines == ["True", "False"]


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

def test_warm_up(trace_check):
    warmed_up(trace_check, profile)

def test_warm_up_elsewhere(trace_check):
    warmed_up(trace_check, elsewhere)

def recorded(trace_check, use, steps):
    with trace_check() as check:
        use()
        for _ in range(steps):
            check.step()
    check.no("graph_break")

def test_recorded(trace_check):
    recorded(trace_check, profile, 2)

def test_recorded_elsewhere(trace_check):
    recorded(trace_check, elsewhere, 0)

def test_recorded_elsewhere_with_steps(trace_check):
    recorded(trace_check, elsewhere, 2)

def test_next(trace_check):
    warmed_up(trace_check, lambda: None)
"""


def test_a_profiler_in_the_code_that_trace_check_records(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    out = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "3 failed, 3 passed" in out.stdout, out.stdout[-3000:] + out.stderr
    lines = [line for line in out.stdout.splitlines() if line.startswith("FAILED")]
    assert all("test_recorded" in line for line in lines)
    assert out.stdout.count("E       RuntimeError: nothing was recorded: the code") == 3
