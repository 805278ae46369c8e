# SPDX-License-Identifier: BSD-3-Clause
"""modes.py: modes, and the default device, which is one, are left as they were found.

A program may leave modes of its own entered, above those of the run: torch takes away
what is on top, whoever leaves. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap_dryrun.private_names import private

_functions = private("torch.overrides._get_current_function_mode_stack")
_pop_function = private("torch.overrides._pop_mode")
_push_function = private("torch.overrides._push_mode")
_operators = private("torch.utils._python_dispatch._get_current_dispatch_mode_stack")
_pop_operator = private("torch.utils._python_dispatch._pop_mode")
_push_operator = private("torch.utils._python_dispatch._push_mode")
_global_device = private("torch._GLOBAL_DEVICE_CONTEXT")


@contextmanager
def functions_seen_by(mode: TorchFunctionMode) -> Iterator[None]:
    """Have a mode in this block, and not afterwards, whatever lies above it then."""
    mode.__enter__()
    try:
        yield
    finally:
        _take_out(mode, _functions, _pop_function, _push_function)


@contextmanager
def operators_seen_by(mode: TorchDispatchMode) -> Iterator[None]:
    """The same of a mode that sees operators."""
    mode.__enter__()
    try:
        yield
    finally:
        _take_out(mode, _operators, _pop_operator, _push_operator)


@contextmanager
def in_other_thread(
    functions: TorchFunctionMode, operators: TorchDispatchMode
) -> Iterator[None]:
    """Have modes in a thread that may outlive the run; what the program left above them
    goes with them. Not as they are entered: that keeps flags of the process, which such
    a thread would set back."""
    _push_function(functions)
    _push_operator(operators)
    try:
        yield
    finally:
        for mode, entered, pop in (
            (operators, _operators, _pop_operator),
            (functions, _functions, _pop_function),
        ):
            while any(one is mode for one in entered()):
                pop()


def _take_out(
    mode: Any,
    entered: Callable[[], list[Any]],
    pop: Callable[[], Any],
    push: Callable[[Any], None],
) -> None:
    above: list[Any] = []
    try:
        while any(one is mode for one in entered()):
            if entered()[-1] is mode:
                mode.__exit__(None, None, None)
            else:
                above.append(pop())
    finally:
        for one in reversed(above):
            push(one)


class DefaultDevice:
    """What `torch.set_default_device` set before a run: "cuda" is none afterwards."""

    def __init__(self) -> None:
        self._before = _default()
        self._inside = self._before

    def leave(self) -> None:
        """Set what was set before."""
        self._inside = _default()
        _set(self._before)

    def come_back(self) -> None:
        """Set what was set when it was left."""
        _set(self._inside)


def _default() -> torch.device | None:
    context = getattr(_global_device, "device_context", None)
    return None if context is None else context.device


def _set(device: torch.device | None) -> None:
    if device != _default():
        torch.set_default_device(device)
