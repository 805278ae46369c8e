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
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

from torchtraceap.dryrun.script.interrupts import not_lost
from torchtraceap.dryrun.script.script_errors import told, traceback_text
from torchtraceap.dryrun.script.script_function import (
    FunctionError,
    function_of,
    imported,
)
from torchtraceap.dryrun.script.step_ends import Enough, StepEnds
from torchtraceap.dryrun.script.time_limit import TimeUp, ended_in_time
from torchtraceap.errors import DryRunError
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    steps_by: str = ""  #: What ended its steps; "": nothing did.
    #: Why it did not end well, to be shown as it is; "": it did.
    failure: str = ""
    #: The same in a sentence, for what is no fault of its code.
    message: str = ""
    interrupted: bool = False  #: By Ctrl-C.
    #: By a limit, or by enough steps: not by itself, which would tell its threads.
    cut_short: bool = False

    @property
    def well(self) -> bool:
        """Whether it ran to its end, or made the steps that it was to make."""
        return not (self.failure or self.message or self.interrupted)


def run_script(
    run: DryRun, path: str, arguments: Sequence[str] = (), steps: int = 0
) -> Ended:
    """Run a script as ``python PATH ARGUMENTS...`` does, in a run that is under way.

    Args:
        run: The run, which must have been entered.
        path: The script; also a folder or zip file with a __main__.py.
        arguments: Its own.
        steps: End it after so many steps; 0: let it run to its end.
    """
    folder = os.path.dirname(os.path.realpath(path))

    def start() -> None:
        if os.path.isdir(path) or zipfile.is_zipfile(path):
            runpy.run_path(path, run_name="__main__")
        else:  # That would give it another sys.argv[0].
            _execute(os.path.abspath(path))

    with _as_program(path, arguments, folder):
        return _run(start, run, steps, path)


def run_module(
    run: DryRun, name: str, arguments: Sequence[str] = (), steps: int = 0
) -> Ended:
    """Run a module as ``python -m NAME ARGUMENTS...`` does; else as `run_script`."""

    def start() -> None:
        runpy.run_module(name, run_name="__main__", alter_sys=True)

    with _as_program(name, arguments, os.getcwd()):
        return _run(start, run, steps, name)


def run_function(
    run: DryRun, path: str, name: str, arguments: Sequence[str] = (), steps: int = 3
) -> Ended:
    """Import a script and call a function of it ``steps`` times, each call a step.

    Args:
        run: The run, which must have been entered.
        path: The script.
        name: The function, which takes no arguments; "trainer.step" is one of an
            object.
        arguments: What sys.argv holds after the script.
        steps: How often.

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

    with _as_program(path, arguments, folder):
        return _run(start, run, 0, path, f"each call of {name}()")


def _run(
    start: Callable[[], None], run: DryRun, steps: int, name: str, by: str = ""
) -> Ended:
    ends = StepEnds(run, steps)
    shown = printable(os.path.basename(name), 100)
    try:
        watching = nullcontext() if by else ends.watching()
        with watching, not_lost(), ended_in_time(run.limits):
            start()
    except Enough:
        ends.forget_end()
        return Ended(ends.by, cut_short=True)
    except SystemExit as end:
        if end.code not in (None, 0):
            return Ended(by or ends.by, message=_of_exit(shown, end.code))
    except KeyboardInterrupt:
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
    # Nobody calls what would end threads of a function's program.
    return Ended(by or ends.by, cut_short=bool(by))


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


@contextmanager
def _as_program(name: str, arguments: Sequence[str], folder: str) -> Iterator[None]:
    """Let sys and the working folder be a program's, and as they were afterwards."""
    kept = sys.argv, sys.path[:], sys.stdout, sys.stderr, os.getcwd()
    main = sys.modules["__main__"]
    sys.argv = [name, *arguments]
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.stdout, sys.stderr, where = kept
        sys.modules["__main__"] = main
        os.chdir(where)
