# SPDX-License-Identifier: BSD-3-Clause
"""script.py: runs a user's script, module or function in a dry run.

`run_script` is `python SCRIPT ARGS` and `run_module` is `python -m MODULE ARGS`, in
this process: the program is __main__, sys.argv is its own, and it ends after so many
steps. `run_function` imports the script, so what it does only as __main__ it does not
do, and calls one of its functions again and again, each call a step.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import runpy
import sys
import zipfile
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

from torchtraceap.dryrun.script.as_program import AsProgram, Ended, GiveUp
from torchtraceap.dryrun.script.program_end import run_to_end
from torchtraceap.dryrun.script.script_function import (
    FunctionError,
    function_of,
    imported,
)
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun

_MAIN = "__main__.py"


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

    Raises:
        FunctionError: It is a folder that cannot be run.
    """
    folder = os.path.dirname(os.path.realpath(path))

    def start() -> None:
        if os.path.isdir(path) and not os.path.isfile(os.path.join(path, _MAIN)):
            raise FunctionError(f"{path} is a folder without a {_MAIN} to run")
        if os.path.isdir(path) or zipfile.is_zipfile(path):
            runpy.run_path(path, run_name="__main__")
        else:  # That would give it another sys.argv[0].
            _execute(os.path.abspath(path))

    with AsProgram(path, arguments, folder) as program:
        return run_to_end(start, run, steps, path, program.giving(give_up))


def run_module(
    run: DryRun,
    name: str,
    arguments: Sequence[str] = (),
    steps: int = 0,
    give_up: GiveUp | None = None,
) -> Ended:
    """Run a module as ``python -m NAME ARGUMENTS...`` does; else as `run_script`.

    Raises FunctionError if there is none of that name.
    """

    def start() -> None:
        _check_module(name)
        runpy.run_module(name, run_name="__main__", alter_sys=True)

    with AsProgram(name, arguments, os.getcwd()) as program:
        return run_to_end(start, run, steps, name, program.giving(give_up))


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
        return run_to_end(start, run, 0, path, program.giving(give_up), by)


def _execute(path: str) -> None:
    loader = SourceFileLoader("__main__", path)
    module = ModuleType("__main__")
    vars(module).update(
        __file__=path, __loader__=loader, __builtins__=builtins, __cached__=None
    )
    sys.modules["__main__"] = module  # where pickle looks for its classes
    exec(loader.source_to_code(loader.get_data(path), path), vars(module))
