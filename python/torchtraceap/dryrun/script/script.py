# SPDX-License-Identifier: BSD-3-Clause
"""script.py: runs a user's script, module or function in a dry run.

`run_script` is `python SCRIPT ARGS` and `run_module` is `python -m MODULE ARGS`, in
this process: the program is __main__, sys.argv is its own, and it ends after so many
steps. `run_function` imports the script, so what it does only as __main__ it does not
do, and calls one of its functions again and again, each call a step.
"""

from __future__ import annotations

import builtins
import os
import runpy
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures.thread import _threads_queues
from contextlib import nullcontext
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

from torchtraceap.dryrun.script.as_program import AsProgram, Ended, GiveUp
from torchtraceap.dryrun.script.interrupts import not_lost
from torchtraceap.dryrun.script.script_errors import told, traceback_text
from torchtraceap.dryrun.script.script_function import (
    FunctionError,
    function_of,
    imported,
)
from torchtraceap.dryrun.script.step_ends import Enough, StepEnds
from torchtraceap.dryrun.script.time_limit import TimeLimit, TimeUp
from torchtraceap.errors import DryRunError, DryRunLimit
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun


_GOES_ON = (
    "It did not end at that: it catches everything, or takes long to end. So its "
    "process was ended as it was"
)


def run_script(
    run: DryRun,
    path: str,
    arguments: Sequence[str] = (),
    steps: int = 0,
    give_up: GiveUp | None = None,
) -> Ended:
    """Run a script as ``python PATH ARGUMENTS...`` does, in a run that is under way.

    Args:
        run: The run, which must have been entered.
        path: The script; also a folder or zip file with a __main__.py.
        arguments: Its own.
        steps: End it after so many steps; 0: let it run to its end.
        give_up: See `GiveUp`. None: a program that catches the end goes on.
    """
    folder = os.path.dirname(os.path.realpath(path))

    def start() -> None:
        if os.path.isdir(path) or zipfile.is_zipfile(path):
            runpy.run_path(path, run_name="__main__")
        else:  # That would give it another sys.argv[0].
            _execute(os.path.abspath(path))

    with AsProgram(path, arguments, folder) as program:
        return _run(start, run, steps, path, program.giving(give_up))


def run_module(
    run: DryRun,
    name: str,
    arguments: Sequence[str] = (),
    steps: int = 0,
    give_up: GiveUp | None = None,
) -> Ended:
    """Run a module as ``python -m NAME ARGUMENTS...`` does; else as `run_script`."""

    def start() -> None:
        runpy.run_module(name, run_name="__main__", alter_sys=True)

    with AsProgram(name, arguments, os.getcwd()) as program:
        return _run(start, run, steps, name, program.giving(give_up))


def run_function(
    run: DryRun,
    path: str,
    name: str,
    arguments: Sequence[str] = (),
    steps: int = 3,
    give_up: GiveUp | None = None,
) -> Ended:
    """Import a script and call a function of it ``steps`` times, each call a step.

    Args:
        run: The run, which must have been entered.
        path: The script.
        name: The function, which takes no arguments; "trainer.step" is one of an
            object.
        arguments: What sys.argv holds after the script.
        steps: How often.
        give_up: As of `run_script`.

    Raises:
        FunctionError: There is no such function, or it cannot be called so.
    """
    folder = os.path.dirname(os.path.realpath(path))

    def start() -> None:
        with imported(path) as module:
            function = function_of(module, name, path)
            for _ in range(steps):
                function()
                run.step()

    with AsProgram(path, arguments, folder) as program:
        by = f"each call of {name}()"
        return _run(start, run, 0, path, program.giving(give_up), by)


def _run(
    start: Callable[[], None],
    run: DryRun,
    steps: int,
    name: str,
    give_up: GiveUp | None,
    by: str = "",
) -> Ended:
    ends = StepEnds(run, steps)

    def goes_on(limit: DryRunLimit) -> None:
        assert give_up is not None
        run.end_record()
        give_up(Ended(by or ends.by, message=f"{told(limit)}. {_GOES_ON}"))

    shown = printable(os.path.basename(name), 100)
    try:
        watching = nullcontext() if by else ends.watching()
        limit = TimeLimit(run.limits, goes_on if give_up else None)
        older = threading.enumerate()
        with watching, not_lost(), limit:
            start()
            if not by:
                _wait_for_threads(older)
    except Enough:
        ends.forget_end()
        return Ended(ends.by, cut_short=True)
    except SystemExit as end:
        if end.code not in (None, 0):
            return Ended(by or ends.by, message=_of_exit(shown, end.code))
    except KeyboardInterrupt:
        if ends.elsewhere:
            ends.forget_end()
            return Ended(ends.by, cut_short=True)
        run.record.interrupted = True
        return Ended(by or ends.by, interrupted=True, cut_short=True)
    except TimeUp as error:
        return Ended(by or ends.by, message=told(error.limit), cut_short=True)
    except DryRunError as error:
        return Ended(by or ends.by, message=told(error), cut_short=True)
    except FunctionError:
        raise
    except Exception as error:
        return Ended(by or ends.by, failure=traceback_text(error))
    if ends.elsewhere:  # Its SystemExit was handed on by a pool.
        ends.forget_end()
        return Ended(ends.by, cut_short=True)
    if run.limits.hit is not None:  # It was caught, as by `except Exception`.
        return Ended(by or ends.by, message=told(run.limits.hit))
    # Nobody calls what would end threads of a function's program.
    return Ended(by or ends.by, cut_short=bool(by))


def _wait_for_threads(older: list[threading.Thread]) -> None:
    """Wait for threads that a program leaves at its end, as Python does; not for those
    of pools, which Python tells to end."""
    done = {*older, *_threads_queues}
    while left := [t for t in threading.enumerate() if not t.daemon and t not in done]:
        left[0].join()


def _of_exit(name: str, code: object) -> str:
    """Say what sys.exit() was given: a number, or else a text to print."""
    if isinstance(code, int):
        return f"{name} ended itself with exit code {code}"
    return f"{name} ended itself: {printable(str(code), 300)}"


def _execute(path: str) -> None:
    loader = SourceFileLoader("__main__", path)
    module = ModuleType("__main__")
    vars(module).update(
        __file__=path, __loader__=loader, __builtins__=builtins, __cached__=None
    )
    sys.modules["__main__"] = module  # where pickle looks for its classes
    exec(loader.source_to_code(loader.get_data(path), path), vars(module))
