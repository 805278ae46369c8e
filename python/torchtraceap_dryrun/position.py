# SPDX-License-Identifier: BSD-3-Clause
"""position.py: where a program is: in which module, which part of a step, and behind
which forward operator of autograd's graph. Loads torch."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.record import Op, Record

_next_sequence = private("torch._C._autograd._get_sequence_nr")


class ForwardOps:
    """The operators that made nodes, by the number of their node."""

    def __init__(self, record: Record) -> None:
        self._record = record
        # None is forgotten: it may be that a node is of it.
        self._made: dict[int, int] = {}
        self._step = 0  # the first entry of the step

    def end_step(self) -> None:
        """Look no further back than this."""
        self._step = len(self._record.entries)

    def keep(self, at: int) -> None:
        """Remember an operator that is dispatched now, while graphs are made."""
        # Its node is made before it is dispatched; the node's first operator counts.
        if (number := _next_sequence() - 1) >= 0:
            self._made.setdefault(number, at)

    def link(self, entry: Op, node: Any) -> None:
        """Set the line of an operator in backward, if known: the line of the operator
        whose node runs it; its own line is the caller."""
        entry.caller = entry.line
        at = self._made.get(node._sequence_nr())
        if at is not None and self._is_forward(at):
            entry.forward = at
            made = self._record.entries[at]
            assert isinstance(made, Op)
            entry.line, entry.module = made.line, made.module

    def _is_forward(self, at: int) -> bool:
        # Of this step, and no part of backward, as is what has a second derivative.
        entry = self._record.entries[at]
        return at >= self._step and isinstance(entry, Op) and entry.phase != "backward"


class _Step(NamedTuple):
    """A step of an optimizer; without one: a closure that a step called, which is the
    program's own again."""

    optimizer: Any
    running: int  # modules
    frame: FrameType  # of torch, which is left with the step


class Position(threading.local):
    """The innermost module whose forward is running, and whether an optimizer steps: in
    the thread that asks."""

    def __init__(self) -> None:
        self._running: list[tuple[nn.Module, str]] = []
        self._names: WeakKeyDictionary[nn.Module, dict[nn.Module, str]] = (
            WeakKeyDictionary()
        )
        self._stepping: list[_Step] = []

    @property
    def module(self) -> str:
        """Its name from the outermost module's class on: "Net.encoder.0"; or ""."""
        return self._running[-1][1] if self._running else ""

    @property
    def optimizer(self) -> str:
        """The class of the optimizer whose step is running; or "", also in a module
        that the step called."""
        self._drop_left()
        if not self._stepping:
            return ""
        step = self._stepping[-1]
        if step.optimizer is None or len(self._running) > step.running:
            return ""
        return type(step.optimizer).__name__

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follow modules and optimizers, all of them, by torch's global hooks."""
        with ExitStack() as open_hooks:
            for handle in (
                register_module_forward_pre_hook(self._enter),
                register_module_forward_hook(self._leave, always_call=True),
                register_optimizer_step_pre_hook(self._begin_step),
                register_optimizer_step_post_hook(self._end_step),
            ):
                open_hooks.callback(handle.remove)
            open_hooks.callback(self._drop_left)
            yield

    def _enter(self, module: nn.Module, _: Any) -> None:
        root = self._running[0][0] if self._running else module
        self._running.append((module, self._name(root, module)))

    def _leave(self, module: nn.Module, *_: Any) -> None:
        while self._running and self._running.pop()[0] is not module:
            pass  # of those an exception left

    def _name(self, root: nn.Module, module: nn.Module) -> str:
        names = self._names.get(root)
        if names is None or module not in names:
            names = {m: n for n, m in root.named_modules()}
            self._names[root] = names
        inside = names.get(module)
        top = type(root).__name__
        if inside is None:  # called by one that does not own it
            return f"{self.module or top}.({type(module).__name__})"
        return f"{top}.{inside}" if inside else top

    def _begin_step(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        self._begin(optimizer, sys._getframe(1))
        return (
            tuple(self._closure(one) for one in args),
            {key: self._closure(one) for key, one in kwargs.items()},
        )

    def _begin(self, optimizer: Any, frame: FrameType) -> None:
        self._stepping.append(_Step(optimizer, len(self._running), frame))

    def _closure(self, argument: Any) -> Any:
        if not callable(argument):
            return argument

        @wraps(argument)
        def closure(*args: Any, **kwargs: Any) -> Any:
            outside = len(self._stepping)
            self._begin(None, sys._getframe())
            try:
                return argument(*args, **kwargs)
            finally:
                del self._stepping[outside:]

        return closure

    def _drop_left(self) -> None:
        # Of a step that an exception left, torch tells nothing.
        while self._stepping and not _is_running(self._stepping[-1].frame):
            self._stepping.pop()

    def _end_step(self, optimizer: Any, *_: Any) -> None:
        while self._stepping and self._stepping.pop().optimizer is not optimizer:
            pass


def _is_running(frame: FrameType) -> bool:
    at: FrameType | None = sys._getframe(1)
    while at is not None and at is not frame:
        at = at.f_back
    return at is not None
