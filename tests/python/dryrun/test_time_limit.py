# SPDX-License-Identifier: BSD-3-Clause
"""test_time_limit.py: a program ends when its time is over, also one that catches that,
and nothing else is broken off."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)
if not hasattr(signal, "SIGALRM"):
    pytest.skip("there is no such timer", allow_module_level=True)

import torchtraceap  # noqa: E402
from torchtraceap.dryrun.limits import Limits  # noqa: E402
from torchtraceap.dryrun.record import Record  # noqa: E402
from torchtraceap.dryrun.script.step_ends import Enough  # noqa: E402
from torchtraceap.dryrun.script.time_limit import (  # noqa: E402
    _AGAIN_S,
    TimeLimit,
    TimeUp,
)

_SWALLOWS = """\
import os, sys, time
import torch
torch.ones(3, device="cuda").sum().item()
os.chdir("/")
sys.stdout = open(os.devnull, "w")
while True:
    try:
        time.sleep(0.1)
    except:
        pass
"""


@pytest.mark.parametrize("to_stdout", [False, True])
def test_a_program_that_catches_its_end_is_ended(
    tmp_path: Path, to_stdout: bool
) -> None:
    (tmp_path / "swallows.py").write_text(_SWALLOWS)
    json_to = "-" if to_stdout else "found.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torchtraceap", "dryrun", "--max-seconds", "1"),
            *("--json", json_to, "--trace-out", "trace.json", "swallows.py"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode == 2, done.stderr
    assert re.search(
        r"ended at \S*swallows.py:\d+, after 1 s and \d operators.*"
        r"raise --max-seconds\. It did not end at that",
        done.stderr,
    )
    assert "Traceback" not in done.stderr
    if to_stdout:
        form = json.loads(done.stdout)
    else:
        assert "swallows.py:3" in done.stdout
        form = json.loads((tmp_path / "found.json").read_text())
    assert form["waits"][0]["location"]["line"] == 3
    assert torchtraceap.analyze(tmp_path / "trace.json").findings


class Given(Exception):
    """Stands for the end of the process."""


class Rings:
    """A limit whose rings come when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def give_up(limit: Exception) -> None:
            self.given.append(str(limit))
            raise Given

        monkeypatch.setattr(signal, "setitimer", lambda *_: (0.0, 0.0))
        self.given: list[str] = []
        self.limit = TimeLimit(Limits(Record(), 1, 1000.0), give_up)
        self._patch = monkeypatch

    def ring(self) -> None:
        self._patch.setattr(signal, "getitimer", lambda _: (1.0, _AGAIN_S))
        signal.raise_signal(signal.SIGALRM)


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> Rings:
    return Rings(monkeypatch)


def test_who_catches_three_catches_all(rings: Rings) -> None:
    caught = 0
    with pytest.raises(Given), rings.limit:
        while True:
            try:
                rings.ring()
            except TimeUp:
                caught += 1
    assert caught == 3
    assert len(rings.given) == 1 and "test_time_limit.py" in rings.given[0]


def test_what_it_does_at_its_end_is_not_broken_off(rings: Rings) -> None:
    written = []
    with pytest.raises(TimeUp), rings.limit:
        try:
            rings.ring()
        finally:
            for part in range(5):
                rings.ring()
                try:  # What fails there is of the end, too.
                    raise ValueError
                except ValueError:
                    rings.ring()
                written.append(part)
    assert written == [0, 1, 2, 3, 4] and not rings.given


def test_an_end_that_does_not_end_is_given_up(rings: Rings) -> None:
    with pytest.raises(Given), rings.limit:
        try:
            rings.ring()
        finally:
            while True:
                rings.ring()
    assert len(rings.given) == 1


def test_a_ring_as_the_block_ends_is_late(
    rings: Rings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of its calls it comes into: the timer is off and nothing is raised."""
    off: list[Any] = []
    of_python = signal.getsignal

    def getsignal(number: int) -> Any:
        rings.ring()
        return of_python(number)

    with rings.limit:
        monkeypatch.setattr(signal, "getsignal", getsignal)
        monkeypatch.setattr(signal, "setitimer", lambda *given: off.append(given))
    assert off == [(signal.ITIMER_REAL, 0)]
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_ring_at_any_line_of_the_end_is_late(rings: Rings) -> None:
    """Also before the first of them."""

    def at_each_line(frame: Any, event: str, _: object) -> Any:
        if frame.f_code is TimeLimit.__exit__.__code__:
            if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
                rings.ring()
                rung.append(frame.f_lineno)
            return at_each_line
        return None

    rung: list[int] = []
    former = sys.gettrace()
    with rings.limit:
        sys.settrace(at_each_line)
    sys.settrace(former)
    assert len(set(rung)) > 4
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_an_order_of_another_thread_reaches_what_waits() -> None:
    limit = TimeLimit(Limits(Record(), 1, 1000.0))
    thread = threading.Thread(target=lambda: limit.order(Enough, at_once=True))
    with pytest.raises(Enough), limit:
        thread.start()
        threading.Event().wait(60)
    thread.join()
    assert not limit.order(Enough, at_once=True)  # The block is over.
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_order_does_not_reach_what_comes_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, of_python = threading.Event(), signal.setitimer

    def setitimer(which: int, first: float, again: float = 0.0) -> Any:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            time.sleep(0.1)
            first = 1000.0  # That it harms nobody if it does.
        return of_python(which, first, again)

    monkeypatch.setattr(signal, "setitimer", setitimer)
    limit = TimeLimit(Limits(Record(), 1, 1000.0))
    thread = threading.Thread(target=lambda: limit.order(Enough, at_once=True))
    with limit:
        thread.start()
        assert begun.wait(60)
    thread.join()
    left = signal.getitimer(signal.ITIMER_REAL)
    of_python(signal.ITIMER_REAL, 0)
    assert left == (0.0, 0.0)
