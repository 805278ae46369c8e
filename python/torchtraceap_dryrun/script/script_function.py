# SPDX-License-Identifier: BSD-3-Clause
"""script_function.py: finds the function of a script that makes a step."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from operator import attrgetter
from types import ModuleType
from typing import Any

from torchtraceap.base.safe_text import printable


class FunctionError(ValueError):
    """What is to be run is not there, or cannot be; a function, not as a step."""


def imported(path: str) -> ModuleType:
    """Import a file under its name, as another module of its folder would."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    if spec is None or spec.loader is None:
        raise FunctionError(f"{path} is no Python file: it has to end in .py")
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
        raise FunctionError(f"{name} of {file} is no function")
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
