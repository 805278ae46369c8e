# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_disturbed.py: ``torchtraceap.profile`` and what comes between.

Other profilers, other threads, forks, errors and a program's end.
"""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

from .small_work import (  # noqa: E402
    CPU,
    loop,
    profile_elsewhere,
    steps_of,
    work,
)
from .torch_forks import TorchForks  # noqa: E402


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
    assert prof.report.summary() in capsys.readouterr().out
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
