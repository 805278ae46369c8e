# SPDX-License-Identifier: BSD-3-Clause
"""program_end.py: runs a program until it ends, or is ended, and tells how that was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.script.as_program import Ended, GiveUp
from torchtraceap.dryrun.script.interrupts import not_lost
from torchtraceap.dryrun.script.program_threads import ProgramThreads
from torchtraceap.dryrun.script.script_errors import told, traceback_text
from torchtraceap.dryrun.script.script_function import FunctionError
from torchtraceap.dryrun.script.step_ends import Enough, StepEnds
from torchtraceap.dryrun.script.time_limit import End, TimeLimit, TimeUp
from torchtraceap.errors import DryRunError
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun

_GOES_ON = (
    "It did not end at that: it catches everything, or takes long to end. So its "
    "process was ended as it was"
)


def run_to_end(
    start: Callable[[], None],
    run: DryRun,
    steps: int,
    name: str,
    give_up: GiveUp | None,
    by: str = "",
) -> Ended:
    """Run a program in a run that is under way.

    Args:
        start: Runs it.
        run: The run.
        steps: End it after so many steps; 0: let it run to its end.
        name: What the user calls it: a path, or the name of a module.
        give_up: See `GiveUp`.
        by: What ends its steps, where `start` tells the run of them. Then it is a part
            of a program, at whose end nothing is waited for.

    Raises:
        FunctionError: By `start`.
        SystemExit: The program forked, and this is a child of it that has ended.
    """

    def end_here(message: str = "") -> None:
        replaced.undo()
        if give_up is None or os.getpid() != process:
            return
        run.end_record()
        if ends.made:
            ends.forget_end()
            message = ""
        give_up(Ended(by or ends.by, message=message, cut_short=True))

    def goes_on(end: End) -> None:
        if isinstance(end, TimeUp):
            end_here(f"{told(end.limit)}. {_GOES_ON}")
        else:
            end_here()

    def exit_at_once(code: int) -> None:
        """Stand in for os._exit, by which nothing would be told."""
        end_here(_of_exit(name, code) if code else "")
        os._exit(code)

    limit = TimeLimit(run.limits, goes_on if give_up else None)
    ends = StepEnds(run, steps, limit)
    threads = ProgramThreads()
    # Nobody calls what would end threads of a part of a program.
    ended = Ended(cut_short=bool(by))
    code: object = 0  # As Python would exit with.
    process = os.getpid()
    replaced = Replacements()
    try:
        watching = nullcontext() if by else ends.watching()
        with replaced, threads, not_lost(), watching, limit:
            replaced.set(os, "_exit", exit_at_once)
            try:
                start()
            except SystemExit as end:
                code = end.code
                if code not in (None, 0):
                    ended = Ended(message=_of_exit(name, end.code))
            if not (by or ends.made):
                threads.wait()
    except Enough:
        pass
    except KeyboardInterrupt:
        ended, code = Ended(interrupted=True, cut_short=True), 130
    except TimeUp as error:
        ended = Ended(message=told(error.limit), cut_short=True)
    except DryRunError as error:
        ended = Ended(message=told(error), cut_short=True)
    except FunctionError:
        raise
    except Exception as error:
        ended, code = Ended(failure=traceback_text(error)), 1
    if os.getpid() != process:  # Only who began the run tells of it, not its children.
        if ended.failure and sys.stderr is not None:
            print(ended.failure, file=sys.stderr)
        raise SystemExit(code)
    if ends.made:  # Whatever came of that: it was told to end.
        ends.forget_end()
        ended = Ended(cut_short=True)
    elif ended.interrupted:
        run.record.interrupted = True
    elif ended.well and run.limits.hit is not None:  # Caught, as by `except Exception`.
        ended = Ended(message=told(run.limits.hit))
    return replace(ended, steps_by=by or ends.by)


def _of_exit(name: str, code: object) -> str:
    """Say what sys.exit() was given: a number, or else a text to print."""
    shown = printable(os.path.basename(name), 100)
    if isinstance(code, int):
        return f"{shown} ended itself with exit code {code}"
    return f"{shown} ended itself: {printable(str(code), 300)}"
