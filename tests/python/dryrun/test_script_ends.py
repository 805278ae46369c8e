# SPDX-License-Identifier: BSD-3-Clause
"""test_script_ends.py: whatever way a script ends by, what was found is told once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

BEGIN = """
import os, sys, threading, time, torch
def step():
    torch.ones(3, device="cuda").sum().item()
step()
"""


def dryrun(tmp_path: Path, end: str, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(BEGIN + end)
    own = [sys.executable, "-m", "torchtraceap", "dryrun", "--json", "found.json"]
    return subprocess.run(
        [*own, *options, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )


def waits(tmp_path: Path) -> int:
    form = json.loads((tmp_path / "found.json").read_text())
    return sum(wait["count"] for wait in form["waits"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(3)", 3), ("raise ValueError('child')", 1), ("", 0)]
)
def test_a_child_tells_nothing(tmp_path: Path, end: str, code: int) -> None:
    done = dryrun(
        tmp_path,
        "child = os.fork()\n"
        f"if child == 0:\n    time.sleep(0.5)\n    {end or 'pass'}\n"
        "else:\n    step()\n    print(os.waitpid(child, 0)[1] >> 8, 'is its code')\n",
    )
    assert done.returncode == 0, done.stderr
    assert f"{code} is its code" in done.stdout
    assert done.stdout.count("Dry run as if on") == 1
    assert ("ValueError: child" in done.stderr) == (code == 1)
    assert waits(tmp_path) == 2


@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        ("os._exit(0)", 0, ""),
        ("os._exit(3)", 2, "program.py ended itself with exit code 3"),
        ("threading.Thread(target=os._exit, args=[0]).start(); time.sleep(60)", 0, ""),
    ],
)
def test_an_end_at_once_is_told(tmp_path: Path, end: str, code: int, says: str) -> None:
    done = dryrun(tmp_path, end)
    assert done.returncode == code, done.stderr
    assert says in done.stderr and "Dry run as if on" in done.stdout
    assert waits(tmp_path) == 1


def test_limits_hold_though_it_ends_at_once(tmp_path: Path) -> None:
    limits = ("--max-syncs", "0", "--warmup", "0")
    assert dryrun(tmp_path, "os._exit(0)", *limits).returncode == 1


def test_a_closed_standard_output_loses_nothing(tmp_path: Path) -> None:
    done = dryrun(tmp_path, "sys.stdout.close()")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "Dry run as if on" in done.stderr
    assert waits(tmp_path) == 1


def test_the_end_of_a_thread_is_not_broken_off(tmp_path: Path) -> None:
    """Though Python takes a thread whose join() was broken off for one that ended."""
    done = dryrun(
        tmp_path,
        """
def train():
    parameter = torch.nn.Parameter(torch.ones(3, device="cuda"))
    optimizer = torch.optim.SGD([parameter])
    try:
        while True:
            optimizer.step()
    finally:
        time.sleep(1)
        print("cleaned up", flush=True)
thread = threading.Thread(target=train)
thread.start()
thread.join()
""",
    )
    assert done.returncode == 0, done.stderr
    assert "cleaned up" in done.stdout and done.stderr == ""


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (["-m", "nosuch"], "there is no module nosuch to run"),
        (["-m", "no.such"], "there is no module no.such to run"),
        (["-m", "email"], "there is no module email.__main__ to run"),
        (["folder"], "folder is a folder without a __main__.py to run"),
    ],
)
def test_what_is_not_there_is_told(tmp_path: Path, what: list[str], says: str) -> None:
    (tmp_path / "folder").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "torchtraceap", "dryrun", *what],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert (
        done.stderr.startswith(f"torchtraceap: {says}") and "Error" not in done.stderr
    )
