# SPDX-License-Identifier: BSD-3-Clause
"""modes.py: torch's modes, which a run enters, hides and leaves as it found them.

A program may leave modes of its own entered, above those of the run: torch removes the
top one, whichever mode leaves. Those entered before the run, such as a FlopCounterMode,
see each operator that a program runs once, and none of the computations beside it.
Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap_dryrun.private_names import private

#: Function modes would answer for tensors on the device, also what a run asks itself.
without_function_modes = private("torch._C.DisableTorchFunction")
#: Gives the modes that it hides.
without_dispatch_modes = private("torch.utils._python_dispatch._disable_current_modes")

#: Gives those that are entered, the innermost last.
function_modes = private("torch.overrides._get_current_function_mode_stack")
pop_function_mode = private("torch.overrides._pop_mode")
push_function_mode = private("torch.overrides._push_mode")
_operators = private("torch.utils._python_dispatch._get_current_dispatch_mode_stack")
_pop_operator = private("torch.utils._python_dispatch._pop_mode")
_push_operator = private("torch.utils._python_dispatch._push_mode")
_count = private("torch._C._len_torch_dispatch_stack")
_global_device = private("torch._GLOBAL_DEVICE_CONTEXT")


@contextmanager
def seen_by(mode: TorchFunctionMode | TorchDispatchMode) -> Iterator[None]:
    """Have a mode in this block, and not afterwards, whatever lies above it then."""
    mode.__enter__()
    try:
        yield
    finally:
        _take_out(mode)


def _take_out(mode: Any) -> None:
    entered, pop, push = _operators, _pop_operator, _push_operator
    if isinstance(mode, TorchFunctionMode):
        entered, pop, push = function_modes, pop_function_mode, push_function_mode
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


class OtherModes:
    """Those below the mode of the run, while it handles an operator."""

    def __init__(self) -> None:
        #: Those that are hidden, the outermost last.
        self.there: list[Any] = []

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Let other modes see nothing of a block."""
        if not _count():
            yield
            return
        before = self.there
        with without_dispatch_modes() as modes:
            self.there = modes
            try:
                yield
            finally:
                self.there = before

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Let them see everything of a block within a hidden one."""
        modes, self.there = self.there, []
        pushed = 0
        try:
            for mode in reversed(modes):
                _push_operator(mode)
                pushed += 1
            yield
        finally:
            for _ in range(pushed):
                _pop_operator()
            self.there = modes
