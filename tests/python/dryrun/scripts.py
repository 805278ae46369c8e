# SPDX-License-Identifier: BSD-3-Clause
"""scripts.py: runs scripts that tests write (the fixture `script` of conftest.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun
    from torchtraceap.dryrun.script.script import Ended

#: Writes a file of this text, by default prog.py, into the working folder.
Write = Callable[..., str]


def run(path: str, *arguments: str, steps: int = 0) -> tuple[DryRun, Ended]:
    """Run a script in a dry run of its own."""
    from torchtraceap.dryrun.dry_run import dry_run
    from torchtraceap.dryrun.script.script import run_script

    with dry_run() as going:
        return going, run_script(going, path, arguments, steps)
