# SPDX-License-Identifier: BSD-3-Clause
"""test_left_threads.py: which threads ``torchtraceap dryrun`` waits for at its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

# The program, with another patience.
CONSOLE = """
import sys
from torchtraceap.cli import console, left_threads
left_threads.SECONDS = {seconds}
sys.argv = ["torchtraceap", "dryrun", "-q", *sys.argv[1:]]
sys.exit(console())
"""

SAVER = """
import sys, threading, time, torch
path = sys.argv[-1]  # Which are the process's own again later.
def save():
    threading.main_thread().join()
    time.sleep(1)
    open(path, "w").write("whole")
threading.Thread(target=save).start()
weight = torch.ones(2, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    weight.sum().backward()
    optimizer.step()
sys.exit({code})
"""


def ran(code: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("script_code", "code"), [(0, 0), (3, 2)])
def test_threads_of_a_program_that_ended_by_itself_are_waited_for(
    tmp_path: Path, script_code: int, code: int
) -> None:
    script, saved = tmp_path / "train.py", tmp_path / "saved"
    script.write_text(SAVER.format(code=script_code))
    done = ran(CONSOLE.format(seconds=0.0), "--steps", 0, script, saved)
    assert done.returncode == code, done.stderr
    assert saved.read_text() == "whole" and "do not end" not in done.stderr


def test_threads_of_a_program_that_was_cut_short_may_end(tmp_path: Path) -> None:
    script, saved = tmp_path / "train.py", tmp_path / "saved"
    script.write_text(SAVER.format(code=0))
    done = ran(CONSOLE.format(seconds=60.0), "--steps", 2, script, saved)
    assert done.returncode == 0, done.stderr
    assert saved.read_text() == "whole" and "do not end" not in done.stderr


def test_one_that_does_not_is_broken_off(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    waits = "threading.Event().wait()"
    script.write_text(SAVER.format(code=0).replace("time.sleep(1)", waits))
    done = ran(CONSOLE.format(seconds=0.0), "--steps", 2, script)
    assert done.returncode == 0, done.stderr
    assert "cut short, and threads that it left do not end: 'Thr" in done.stderr


HOST = """
import sys, threading, time
from torchtraceap.cli import left_threads, main
left_threads.SECONDS = 0.0
def work():
    threading.main_thread().join()
    time.sleep(1)
    print("the host's", flush=True)
threading.Thread(target=work).start()
print(main(["dryrun", "-q", "--steps", sys.argv[1], *sys.argv[2:]]))
sys.exit(3)
"""


@pytest.mark.parametrize("steps", [0, 2])
def test_a_process_that_calls_the_program_is_never_ended(
    tmp_path: Path, steps: int
) -> None:
    script, saved = tmp_path / "train.py", tmp_path / "saved"
    script.write_text(SAVER.format(code=0))
    done = ran(HOST, steps, script, saved)
    assert done.stdout == "0\nthe host's\n" and done.returncode == 3, done.stderr
    assert saved.read_text() == "whole" and not done.stderr
