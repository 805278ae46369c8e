# SPDX-License-Identifier: BSD-3-Clause
"""script.py: runs a user's script, module or function in a dry run until it ends, or is
ended, and tells how that was.

As `python SCRIPT ARGS` and `python -m MODULE ARGS` do, in this process: the program is
__main__, sys.argv is its own, and it ends after a given number of steps. For a function
the script is imported, so its code for __main__ does not run, and the function is
called repeatedly, each call a step.
"""

from __future__ import annotations

import builtins
import difflib
import importlib.util
import inspect
import os
import runpy
import sys
import traceback
import zipfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from importlib.machinery import SourceFileLoader
from operator import attrgetter
from types import ModuleType
from typing import Any, NoReturn

from torchtraceap.base.errors import DryRunError, DryRunLimit
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import OWN_FOLDERS, display_path, is_user_file
from torchtraceap_dryrun.dry_run import DryRun
from torchtraceap_dryrun.script.ended import Ended, FunctionError, Program, of_exit
from torchtraceap_dryrun.script.ending import Ending
from torchtraceap_dryrun.script.step_ends import End, StepEnds

_MAIN = "__main__.py"


def run_program(run: DryRun, program: Program, ending: Ending) -> int:
    """Run a program in a run that is under way; return its exit code."""
    name = program.name
    is_module = program.is_module
    folder = os.getcwd() if is_module else os.path.dirname(os.path.realpath(name))
    sys.argv = [name, *program.arguments]
    sys.path.insert(0, folder)
    if program.function:
        start = partial(_call_steps, run, program)
        by = f"each call of {program.function}()"
        return run_to_end(start, run, ending, 0, name, by)
    start = partial(_run_module if is_module else _run_script, name)
    return run_to_end(start, run, ending, program.steps, name)


def _run_script(path: str) -> None:
    if os.path.isdir(path) and not os.path.isfile(os.path.join(path, _MAIN)):
        raise FunctionError(f"{path} is a folder without a {_MAIN} to run")
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        runpy.run_path(path, run_name="__main__")
    else:  # That would give it another sys.argv[0].
        _execute(os.path.abspath(path))


def _run_module(name: str) -> None:
    _check_module(name)
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _call_steps(run: DryRun, program: Program) -> None:
    module = imported(program.name)
    function = function_of(module, program.function, program.name)
    for _ in range(program.steps):
        function()
        run.step()


def _check_module(name: str) -> None:
    """Raise FunctionError if there is no such module, which is not the program's
    fault."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:  # of a package that it is in
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None:
        raise FunctionError(
            f"there is no module {printable(name, 200)} to run. Check the name, and "
            "the working folder"
        )


def _execute(path: str) -> None:
    loader = SourceFileLoader("__main__", path)
    module = ModuleType("__main__")
    vars(module).update(
        __file__=path, __loader__=loader, __builtins__=builtins, __cached__=None
    )
    sys.modules["__main__"] = module  # where pickle looks for its classes
    exec(loader.source_to_code(loader.get_data(path), path), vars(module))


def imported(path: str) -> ModuleType:
    """Import a file under its name, as another module of its folder would."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    if spec is None or spec.loader is None:
        raise FunctionError(f"{path} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def function_of(module: ModuleType, name: str, path: str) -> Callable[[], Any]:
    file = printable(os.path.basename(path), 100)
    try:
        function = attrgetter(name)(module)
    except AttributeError:
        known = [key for key, value in vars(module).items() if callable(value)]
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise FunctionError(f"{file} has no {printable(name, 100)}{hint}") from None
    if not callable(function):
        raise FunctionError(f"{name} of {file} is not a function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise FunctionError(
            f"{name} of {file} is async or a generator: give a function"
        )
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise FunctionError(
            f"{name}() of {file} cannot be called without arguments: {error}. Give a "
            "function that takes none and makes one step"
        ) from None
    except ValueError:  # It tells no signature.
        pass
    return function  # type: ignore[no-any-return]


def run_to_end(
    start: Callable[[], object],
    run: DryRun,
    ending: Ending,
    steps: int,
    name: str,
    by: str = "",
) -> int:
    """Run a program in a run that is under way; return the exit code that it has under
    Python.

    Args:
        steps: End it after this many steps; 0: let it run to its end.
        name: The user's name for it: a path, or the name of a module.
        by: The event that ends its steps, if `start` reports them to the run. Then it
            is a part of a program, and its end waits for nothing.
    """
    ends = StepEnds(run, steps, ending)

    def time_up(limit: DryRunLimit) -> BaseException:
        ending.tell(Ended(by or ends.by, message=told(limit)), soon=True)
        return End(str(limit))

    def refusing(error: DryRunError) -> None:
        # It may end only that thread; the findings are then incomplete.
        ending.tell(Ended(by or ends.by, message=str(error)), soon=True)

    def exit_at_once(status: int) -> NoReturn:
        """Stand in for os._exit."""
        status &= 0xFF  # As the system tells it.
        message = of_exit(name, status) if status else ""
        ending.tell(Ended(by or ends.by, message=message))
        exit_now(status)

    run.limits.raising = time_up
    run.on_refused(refusing)
    exit_now, os._exit = os._exit, exit_at_once
    ended, soon, code, printed = Ended(), bool(by), 0, ""
    process = os.getpid()
    try:
        with nullcontext() if by else ends.watching():
            start()
    except End:
        pass  # It is reported.
    except SystemExit as end:
        status = end.code & 0xFF if isinstance(end.code, int) else end.code
        if status not in (None, 0):
            ended = Ended(message=of_exit(name, status))
        if isinstance(status, int):
            code = status
        elif status is not None:
            code = 1
            with suppress(Exception):
                printed = str(status)
    except KeyboardInterrupt:
        ended, soon, code = Ended(interrupted=True), True, 130
    except FunctionError as error:
        ended, code = Ended(message=str(error)), 1
    except DryRunError as error:
        ended, soon, code = Ended(message=told(error)), True, 1
    except BaseException as error:
        ended, code = Ended(failure=traceback_text(error)), 1
    if os.getpid() == process:
        ending.tell(replace(ended, steps_by=by or ends.by), soon=soon)
    elif sys.stderr is not None and (printed := ended.failure or printed):
        print(printed, file=sys.stderr)  # By a child that it forked.
    return code


_STARTERS = ("<frozen runpy>", "<frozen importlib.", runpy.__file__)


def traceback_text(error: BaseException) -> str:
    """Return the traceback without the lines of this package and of what starts it."""
    shown = traceback.TracebackException.from_exception(error)
    _hide_own(shown, set())
    return "".join(shown.format()).rstrip("\n")


def told(error: DryRunError) -> str:
    """Return the message of a run that cannot go on, with the user's line it is at."""
    if isinstance(error, DryRunLimit):
        return error.in_options
    at = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if is_user_file(frame.filename):
            at = f"{display_path(frame.filename)}:{frame.lineno}: "
    return f"{at}{error}"


def _hide_own(shown: traceback.TracebackException, seen: set[int]) -> None:
    if id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack[:] = [frame for frame in shown.stack if not _is_own(frame.filename)]
    further = [shown.__cause__, shown.__context__]
    for one in [*further, *(getattr(shown, "exceptions", None) or ())]:
        if one is not None:
            _hide_own(one, seen)


def _is_own(file: str) -> bool:
    return file.startswith(_STARTERS) or os.path.abspath(file).startswith(OWN_FOLDERS)
