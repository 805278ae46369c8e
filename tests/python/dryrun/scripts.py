# SPDX-License-Identifier: BSD-3-Clause
"""scripts.py: runs scripts that tests write (the fixture `script` of conftest.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchtraceap.dryrun.estimate.gpus import gpu
from torchtraceap.dryrun.result import Result
from torchtraceap.dryrun.script.child import run_dry
from torchtraceap.dryrun.script.ended import Ended, Program

#: Writes a file of this text, by default prog.py, into the working folder.
Write = Callable[..., str]


def run(
    path: str, *arguments: str, max_seconds: float = 60.0, **of_program: Any
) -> tuple[Result, Ended]:
    """Run a script in a child of this process, which has loaded torch already."""
    program = Program(path, arguments, **of_program)
    record, ended = run_dry(program, max_seconds)
    return Result(record, gpu("H100")), ended
