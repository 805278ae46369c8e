# SPDX-License-Identifier: BSD-3-Clause
"""test_script_threads.py: scripts that train in threads, or catch their limits."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TRAIN = """
import queue, threading, time, torch
q = queue.Queue()
def train(steps=6):
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.ones(2, 4, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        q.put(loss)
        time.sleep(0.01)
"""


def ignore_ctrl_c() -> None:
    """Be as in the background of a shell, as after nohup."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def dryrun(
    tmp_path: Path, end: str, *options: str, ignoring: bool = False
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "train.py"
    script.write_text(TRAIN + end)
    command = [sys.executable, "-m", "torchtraceap", "dryrun", *options, str(script)]
    before = ignore_ctrl_c if ignoring else None
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, preexec_fn=before
    )


WAITS = "threading.Thread(target=train).start()\nwhile True: q.get().item()"


@pytest.mark.parametrize(
    "end",
    [
        WAITS,
        "t = threading.Thread(target=train); t.start(); t.join()",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(1) as pool: pool.submit(train).result()",
        "threading.Thread(target=train).start()",
    ],
    ids=["waits for its queue", "joins", "pool", "leaves it"],
)
def test_steps_that_a_thread_makes_end_the_script(tmp_path: Path, end: str) -> None:
    done = dryrun(tmp_path, end)
    assert done.returncode == 0, done.stderr
    assert "3 steps." in done.stdout
    assert done.stderr == ""


def test_they_end_it_where_ctrl_c_is_ignored(tmp_path: Path) -> None:
    end = "import os, signal; os.kill(os.getpid(), signal.SIGINT)\n" + WAITS
    done = dryrun(tmp_path, end, "--max-seconds", "60", ignoring=True)
    assert done.returncode == 0, done.stderr
    assert "3 steps." in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "end",
    [
        "threading.Thread(target=train, args=[4]).start()",
        "threading.Thread(target=train, args=[4]).start()\nraise SystemExit(0)",
        "def after():\n"
        "    threading.main_thread().join()\n"
        "    train(4)\n"
        "threading.Thread(target=after).start()",
        "def after():\n"
        "    while threading.main_thread().is_alive(): time.sleep(0.01)\n"
        "    train(4)\n"
        "threading.Thread(target=after).start()",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1)\n"
        "pool.submit(lambda: (time.sleep(1), pool.submit(train, 4)))",
        "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
        "def late():\n"
        "    global pool\n"
        "    time.sleep(0.5)\n"
        "    pool = ThreadPoolExecutor(1)\n"
        "    pool.submit(train, 4).result()\n"
        "processes = ProcessPoolExecutor(1)\n"
        "processes.submit(abs, 1).result()\n"
        "threading.Thread(target=late).start()",
    ],
    ids=[
        "end",
        "exit",
        "joins the main one",
        "asks for the main one",
        "pool",
        "pools of others",
    ],
)
def test_a_thread_that_is_left_is_waited_for(tmp_path: Path, end: str) -> None:
    done = dryrun(tmp_path, end, "--steps", "0", "--max-seconds", "60")
    assert done.returncode == 0, done.stderr
    assert "4 steps." in done.stdout


LOOP = """
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def fit(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 8, device="cuda")).sum()
        loss.item()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "end",
    [
        "while True:\n    try: fit(1)\n    except BaseException: pass",
        "try: fit(9)\nexcept BaseException as e: raise RuntimeError('failed') from e",
        # Who caught it, and only then ends a step of the profiler.
        "with torch.profiler.profile() as prof:\n"
        "    for epoch in range(3):\n"
        "        try: fit(5)\n"
        "        except BaseException: pass\n"
        "        prof.step()",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "t = threading.Thread(target=fit, args=[9]); t.start(); t.join()",
        "threading.Thread(target=fit, args=[9]).start()\n"
        "while True:\n"
        "    try: time.sleep(0.05)\n"
        "    except BaseException: pass",
    ],
    ids=["again and again", "wrapped", "profiler", "SIGINT", "in a thread"],
)
def test_what_follows_the_last_step_counts_for_nothing(
    tmp_path: Path, end: str
) -> None:
    done = dryrun(tmp_path, LOOP + end, "--max-syncs", "1", "--max-seconds", "60")
    assert done.returncode == 0, done.stderr
    assert "3 steps." in done.stdout
    assert done.stdout.count("×3, 1 a step") == 1
    assert "in no step" not in done.stdout


@pytest.mark.parametrize("caught", ["except Exception", "except"])
def test_a_limit_that_is_caught_is_told(tmp_path: Path, caught: str) -> None:
    end = f"""
x = torch.ones((), device="cuda")
while True:
    try:
        x = x + 1  # here
        time.sleep(0.001)
    {caught}: pass
"""
    done = dryrun(tmp_path, end, "--max-ops", "20")
    assert done.returncode == 2
    at = (TRAIN + end).splitlines().index("        x = x + 1  # here") + 1
    assert f"train.py:{at}, after 20 operators (--max-ops)" in done.stderr
    assert "20 operators" in done.stdout
