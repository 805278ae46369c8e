# SPDX-License-Identifier: BSD-3-Clause
"""test_interrupt.py: Ctrl-C is heard while the program is loaded and while a replay
runs; and tests that send it are heard."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import Report, edits

from .alarms import SEVERAL, Ended, alarms, end, heard
from .conftest import python

STEPS = 80_000
EACH_US = 100
OPERATORS = 20  # Each waits for itself: as many findings as a pattern may have.


@pytest.fixture(scope="module")
def report() -> Report:
    """Kernels whose host waits for each, under operators of many names."""
    rows = []

    def add(cat: str, name: str, where: str, ts: int, dur: int, args: str) -> None:
        rows.append(
            f'{{"ph":"X","cat":"{cat}","name":"{name}",{where},"ts":{ts},"dur":{dur},'
            f'"args":{{{args}}}}}'
        )

    thread = '"pid":100,"tid":100'
    for i in range(STEPS):
        at, stream = EACH_US * i, 7 + i % 2
        launch, wait = f'"correlation":{2 * i + 1}', f'"correlation":{2 * i + 2}'
        where = f'"pid":0,"tid":{stream}'
        work = f'"device":0,"stream":{stream},{launch}'
        length = EACH_US - 19
        add("cpu_op", "aten::mm", thread, at, 8, "")
        add("cuda_runtime", "cudaLaunchKernel", thread, at + 1, 5, launch)
        add("cpu_op", f"aten::op_{i % OPERATORS}", thread, at + 10, length + 4, "")
        add("cuda_runtime", "cudaStreamSynchronize", thread, at + 12, length, wait)
        add("kernel", f"gemm_{stream}", where, at + 9, length, work)
    events = ",\n".join(rows)
    return torchtraceap.analyze(f'{{"traceEvents":[{events}]}}'.encode())


def test_pricing_hears_signals(report: Report) -> None:
    assert len(report.findings) > OPERATORS / 2
    assert heard(lambda: torchtraceap.analyze(report.loaded)) >= SEVERAL


def test_arrays_hear_signals(report: Report) -> None:
    assert heard(report.features) >= SEVERAL


def test_scheduling_by_events_hears_signals(report: Report) -> None:
    core, analysis = report.core_replay, report.core
    made = edits.core_edits(report, [edits.overlap("gemm_8")])
    assert heard(lambda: core.what_if(analysis, made)) >= SEVERAL


def test_writing_hears_signals_and_leaves_nothing(
    report: Report, tmp_path: Path
) -> None:
    result = torchtraceap.what_if(report)
    out = tmp_path / "out.json"
    assert heard(lambda: result.to_trace(out)) >= SEVERAL
    assert '"what_if"' in out.read_text()

    out.write_text("kept")
    with pytest.raises(Ended), alarms(end):
        result.to_trace(out)
    assert out.read_text() == "kept"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_tests_that_send_sigint_are_heard_in_the_background(root: Path) -> None:
    """Run as a background job of a shell, they would start programs that ignore it."""
    send = re.compile(
        r"(kill|killpg|send_signal|raise_signal)\([^()]*(\(\))?[^()]*SIGINT"
    )
    folders = (root / "tests" / "python", root / "benchmarks" / "tests")
    texts = {p: p.read_text("utf-8") for f in folders for p in f.rglob("*.py")}
    senders = {p for p, text in texts.items() if send.search(text)}
    assert len(senders) >= 5
    assert not [p for p in senders if 'usefixtures("ctrl_c_is_heard")' not in texts[p]]


# --- While the program is being loaded ------------------------------------------------

# Runs in the interpreter before anything of ours: as a module is looked for, the key is
# pressed; twice, as people do.
SITE = """
import os, signal, sys

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PRESSED_AT"]:
            sys.stderr.write("pressed\\n")
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressed())
"""

# What pip writes.
SCRIPT = "import sys\nfrom torchtraceap.cli import console\nsys.exit(console())\n"


def started(
    folder: Path, site: str, pressed_at: str, *command: object
) -> subprocess.CompletedProcess[str]:
    """Start Python with a site of this text."""
    (folder / "sitecustomize.py").write_text(site)
    paths = [str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    more = {"PYTHONPATH": os.pathsep.join(paths), "PRESSED_AT": pressed_at}
    return python(*command, env=os.environ | more)


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize(
    ("module", "by_script"),
    [
        ("torchtraceap.cli.program", True),
        ("torchtraceap._core", False),
        ("torchtraceap.report", False),
        ("numpy", True),
    ],
)
def test_ctrl_c_ends_a_start(
    module: str, by_script: bool, tmp_path: Path, data: Path
) -> None:
    script = tmp_path / "torchtraceap"
    script.write_text(SCRIPT)
    entry = [script] if by_script else ["-m", "torchtraceap"]
    command = "inspect" if module == "numpy" else "analyze"
    trace = data / "mi250-rocm62-tiny.json.gz"
    ended = started(tmp_path, SITE, module, *entry, command, trace)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pressed\n")


def test_who_ignores_ctrl_c_goes_on_ignoring_it(tmp_path: Path) -> None:
    """As what a shell starts in the background, or nohup."""
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    command = ("-m", "torchtraceap", "--version")
    ended = started(tmp_path, ignore + SITE, "torchtraceap._core", *command)
    assert ended.returncode == 0 and ended.stderr == "pressed\n"


# --- When all is done -----------------------------------------------------------------

# While Python waits for threads; and while it frees what modules hold, when it has
# taken all handlers back.
WAITING = """
import os, signal, threading, time

def press():
    threading.main_thread().join()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)

threading.Thread(target=press).start()
"""
FREEING = """
import os, signal, sys

class Pressed:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)

pressed = Pressed()
"""


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize(("site", "code"), [(WAITING, 130), (FREEING, 0)])
def test_ctrl_c_after_the_last_word(site: str, code: int, tmp_path: Path) -> None:
    """It ends with an exit code and no traceback, not by the signal (-2)."""
    ended = started(tmp_path, site, "", "-m", "torchtraceap", "--version")
    assert ended.stdout.startswith("torchtraceap ")
    assert (ended.returncode, ended.stderr) == (code, "")
