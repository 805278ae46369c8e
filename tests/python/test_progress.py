# SPDX-License-Identifier: BSD-3-Clause
"""test_progress.py: watching a long load and ending it."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import load
from torchtraceap.base import progress

from .alarms import SEVERAL, Ended, alarms, end, heard
from .terminal import on_terminal

SOURCE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
# A copy is 35 MB of text, in a file of 1.2 MB.
LONG = 80  # A second for the loader, of which it tells ten times.
SHORT = 25

Repeated = Callable[[int], Path]


@pytest.fixture(scope="module")
def repeated(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Repeated:
    """Returns traces that take long to load: the events of a real one, many times.

    The members of a gzip file may be repeated without inflating them.
    """
    text = gzip.decompress((data / SOURCE).read_bytes())
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
    events = text[begin : text.rindex(b"]")]
    member = gzip.compress(events + b",", 1)
    folder = tmp_path_factory.mktemp("long")

    def write(copies: int) -> Path:
        path = folder / f"{copies}.json.gz"
        if not path.exists():
            end = gzip.compress(events + b"]}", 1)
            start = gzip.compress(b'{"traceEvents": [')
            path.write_bytes(b"".join([start, *[member] * copies, end]))
        return path

    return write


# Keeps next to nothing, so that time and not memory is what the load takes.
LOAD = "torchtraceap.load({path!r}, categories=['Trace'], threads={threads}{more})"


def command(code: str) -> list[str]:
    """Return a command of a Python that waits no second before it shows a bar."""
    soon = "import torchtraceap, torchtraceap.base.progress as p; p.PATIENCE_S = 0"
    return [sys.executable, "-c", f"{soon}\n{code}"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_load_hears_signals_and_lets_others_run(
    repeated: Repeated, threads: int
) -> None:
    """Without a callable of Python, which would hear them by itself."""
    path = repeated(LONG)
    options: dict[str, Any] = {"categories": ["Trace"], "threads": threads}
    options["progress"] = False
    done = threading.Event()
    ticks = []

    def tick() -> None:
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    begin = time.monotonic()
    times = heard(lambda: load(path, **options))
    over = time.monotonic()
    done.set()
    other.join()
    assert times >= SEVERAL
    # Held back, it would run only before and after.
    assert sum(begin < tick < over for tick in ticks) >= 10
    with pytest.raises(Ended), alarms(end):
        load(path, **options)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_callable_receives_the_progress(repeated: Repeated, threads: int) -> None:
    calls: list[tuple[float, int, int]] = []
    trace = load(
        repeated(LONG),
        categories=["Trace"],
        threads=threads,
        progress=lambda *call: calls.append(call),
    )
    assert calls[-1] == (1.0, trace.text_bytes, len(trace) + trace.left_out)
    assert len(calls) > 2
    assert all(0 <= fraction <= 1 for fraction, _, _ in calls)
    for number in range(3):
        seen = [call[number] for call in calls]
        assert seen == sorted(seen)
    middle = calls[len(calls) // 2]
    assert 0 < middle[0] < 1
    assert middle[1] == pytest.approx(middle[0] * trace.text_bytes, rel=0.2)


def test_two_passes_are_one_way(data: Path) -> None:
    """Also where the load takes no time: then only its end is reported."""
    calls: list[tuple[float, int, int]] = []
    path = data / SOURCE
    trace = load(path, steps=6, threads=1, progress=lambda *call: calls.append(call))
    fractions = [fraction for fraction, _, _ in calls]
    assert fractions == sorted(fractions)
    assert calls[-1] == (1.0, trace.text_bytes, 75_718)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_callable_raises_ends_the_load(repeated: Repeated, threads: int) -> None:
    class Enough(Exception):
        pass

    calls: list[float] = []

    def stop(fraction: float, *_: float) -> None:
        calls.append(fraction)
        raise Enough

    with pytest.raises(Enough):
        load(repeated(LONG), categories=["Trace"], threads=threads, progress=stop)
    assert len(calls) == 1 and calls[0] < 1


def shown_by(code: str, environment: dict[str, str]) -> str:
    """Run code with standard error on a terminal; return what it shows."""
    ended, shown = on_terminal(command(code), environment, only_errors=True)
    assert ended == 0
    return shown


@pytest.fixture
def watched() -> dict[str, str]:
    """The environment of somebody at a terminal, not of a test."""
    hidden = {"PYTEST_CURRENT_TEST", "CI"}
    return {name: value for name, value in os.environ.items() if name not in hidden}


def test_a_bar_on_a_terminal(repeated: Repeated, watched: dict[str, str]) -> None:
    path = str(repeated(SHORT))
    code = LOAD.format(path=path, threads=1, more="")
    shown = shown_by(code, watched)
    assert f"{SHORT}.json.gz " in shown and "%" in shown and " events" in shown
    # It goes away, and what is written after it begins at the left of its line; the
    # cursor is there again.
    up, erase, cursor = "\x1b[1A", "\x1b[2K", "\x1b[?25h"
    assert shown.endswith(f"\n{cursor}\r{up}{erase}") and shown.count("\n") == 1
    assert shown_by(code, dict(os.environ)) == ""  # PYTEST_CURRENT_TEST
    without = LOAD.format(path=path, threads=1, more=", progress=False")
    assert shown_by(without, watched) == ""
    in_pipe = command(f"import sys\n{code}\nassert 'rich' not in sys.modules")
    out = subprocess.run(in_pipe, capture_output=True, env=watched, check=True)
    assert (out.stdout, out.stderr) == (b"", b"")


def test_a_bar_that_is_asked_for(watched: dict[str, str]) -> None:
    code = "torchtraceap.load(b'[]', progress=True)"
    shown = shown_by(code, watched)
    last = re.sub(r"\x1b\[[\d;]+[mK]", "", shown).rpartition("\r")[2]
    assert "100%" in last and "0 events\n" in last
    hostile = "\u202e\x1b[31m"
    code = f"""
import pathlib, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, {hostile!r} + ".json")
    path.write_text("[]")
    torchtraceap.load(path, progress=True)
"""
    shown = shown_by(code, watched)
    assert "\u202e" not in shown and "[31m" in shown and "\x1b[31m" not in shown


def test_who_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        closed = False

        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress.somebody_watches()
    seen = []
    other = threading.Thread(target=lambda: seen.append(progress.somebody_watches()))
    other.start()
    other.join()
    assert seen == [False]
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress.somebody_watches()

    class IPython:
        @staticmethod
        def get_ipython() -> object:
            return type("Shell", (), {"kernel": None})()

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    assert progress.somebody_watches()
    monkeypatch.setenv("CI", "true")
    assert not progress.somebody_watches()


def test_a_quick_load_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    torchtraceap.load(b"[]")
    assert capfd.readouterr() == ("", "")
