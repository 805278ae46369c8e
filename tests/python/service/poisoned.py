# SPDX-License-Identifier: BSD-3-Clause
"""poisoned.py: a server whose children do by the name of a trace what they must not.

``crash.json`` ends the child as native code does, ``hang.json`` is never done,
``large.json`` takes all memory that it may, ``odd.json`` is answered with nonsense, and
``wait.json`` is done once the file that it names exists. Run as a script, it is
``torchtraceap serve`` with such children, little patience with headers, and few
connections.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from torchtraceap.base import children
from torchtraceap.cli import main as program
from torchtraceap.service import pool, protocol, tasks


def run_task(task: tasks.TraceTask) -> tasks.Reply:
    """Do a task, or something else."""
    name = os.path.basename(task.names[0])
    path = Path(task.roots[0], task.names[0])
    if name == "crash.json":
        os.kill(os.getpid(), signal.SIGSEGV)
    while name == "hang.json":
        time.sleep(1)
    if name == "large.json":
        tasks._trace = lambda _: "x" * resource.getrlimit(resource.RLIMIT_AS)[0]
    if name == "odd.json":
        return str(path)  # type: ignore[return-value]
    if name == "wait.json":
        mark = Path(path.read_text())
        mark.with_suffix(".begun").touch()
        while not mark.exists():
            time.sleep(0.02)
        return tasks.Reply(tasks.Answer("text", b"done"), 0)
    return tasks.Reply(tasks.run_task(task), 0)


def main(parent: int) -> None:
    """Be a child of the pool."""

    def set_up(most: int) -> Callable[[tasks.TraceTask], tasks.Reply]:
        tasks.limit_memory(most)
        return run_task

    children.serve(parent, set_up)


if __name__ == "__main__":
    protocol._HEADER_S, protocol._CONNECTIONS = 2.0, 20
    pool._TASKS = "tests.python.service.poisoned"
    sys.exit(program(sys.argv[1:]))
