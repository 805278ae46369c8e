# SPDX-License-Identifier: BSD-3-Clause
"""record_writer.py: writes a `Record` while a program runs. Loads torch."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor

from torchtraceap.base.errors import DryRunError
from torchtraceap.base.source_lines import Line
from torchtraceap.waits.written import written
from torchtraceap_dryrun.device.tensors import LiveMemory
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.limits import Limits
from torchtraceap_dryrun.lines import frame_at, library_line, user_stack
from torchtraceap_dryrun.position import ForwardOps, Position
from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.record import (
    DEFAULT_STREAM,
    Call,
    CallKind,
    Copy,
    How,
    Op,
    Phase,
    Record,
    Sync,
    TensorInfo,
    Value,
)

_current_node = private("torch._C._current_autograd_node")


class RecordWriter:
    """What operators, the facade of torch.cuda and the user's calls of step() tell."""

    def __init__(self, gpu: Gpu, max_ops: int, max_seconds: float) -> None:
        self.gpu = gpu
        self.record = Record()
        self.live = LiveMemory(self.record)
        self.place = Position()
        self.limits = Limits(self.record, max_ops, max_seconds)
        #: Called with the error for a thread that is not followed.
        self.refusing: Callable[[DryRunError], object] = lambda _: None
        #: The number of the current stream.
        self._stream = DEFAULT_STREAM
        self._thread = threading.get_ident()  # That is followed.
        self._in_backward = False
        self._forward = ForwardOps(self.record)
        self._noted: set[str] = set()
        # Each once: a program has few of them, and a record may have a million entries.
        self._stacks: dict[tuple[Line, ...], tuple[Line, ...]] = {}

    def enter(self) -> None:
        """Follow the thread that asks, and no other."""
        self._thread = threading.get_ident()

    def step(self) -> None:
        """End a step."""
        self.record.steps += 1
        self._forward.end_step()

    def note(self, sentence: str) -> None:
        """Say once what is not as on a GPU."""
        if sentence not in self._noted:
            self._noted.add(sentence)
            self.record.notes.append(sentence)

    @property
    def current_stream(self) -> int:
        """The number of the current stream. Optimizers ask for it, also those of other
        threads that are on the host."""
        return self._stream

    @current_stream.setter
    def current_stream(self, number: int) -> None:
        self.check_thread()
        self._stream = number

    def check_thread(self) -> None:
        """Raise DryRunError in a thread that is not followed."""
        if threading.get_ident() == self._thread:
            return
        name = threading.current_thread().name
        stack = user_stack(sys._getframe(1))
        at = f" at {stack[0]}" if stack else ""
        self.note(
            f"the thread {name!r} was refused the GPU, so what it does there is missing"
        )
        error = DryRunError(
            f"the thread {name!r} uses the GPU{at}, but a dry run follows only the "
            "thread that entered it, because the order of several varies: "
            "for the dry run, do that in the one thread"
        )
        self.refusing(error)
        raise error

    # --- Operators -------------------------------------------------------------------

    def op(
        self,
        name: str,
        overload: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        outputs: Iterable[Tensor],
        copy: Copy | None = None,
        is_view: bool = False,
    ) -> None:
        """Write down an operator that ran now; DryRunLimit if it is one too many.

        Tensors of ``args`` and ``outputs`` that are "meta" are on the device.
        """
        stack = user_stack(sys._getframe(2))
        self.limits.count()
        node = _current_node()
        stack = self._stacks.setdefault(stack, stack)
        phase, module = self._where(node)
        entry = Op(
            name,
            overload,
            tuple(plain(value) for value in args),
            {key: plain(value) for key, value in kwargs.items() if value is not None},
            tuple(info_of(one) for one in outputs),
            self.record.steps,
            phase,
            stack[0] if stack else None,
            module,
            self.current_stream,
            stack=stack,
            copy=copy,
            is_view=is_view,
        )
        if node is not None:
            self._forward.link(entry, node)
        if torch.is_grad_enabled():
            self._forward.keep(len(self.record.entries))
        self.record.entries.append(entry)

    # --- Waits -----------------------------------------------------------------------

    def sync(self, api: str, how: How, value: Value = "none") -> None:
        """Write down that the host waited for what was written down last."""
        frame = sys._getframe(1)
        stack = user_stack(frame)
        inner = library_line(frame)
        text = written(frame_at(frame, stack[0])) if stack else ""
        phase, module = self._where(_current_node())
        self.record.syncs.append(
            Sync(
                api,
                how,
                value,
                self.record.steps,
                phase,
                stack[0] if stack else None,
                module,
                len(self.record.entries) - 1,
                stack=stack,
                inner=inner if stack and inner != stack[0] else None,
                written=text,
            )
        )

    def call(
        self, kind: CallKind, stream: int = DEFAULT_STREAM, event: int = -1
    ) -> None:
        """Write down that the host orders streams."""
        self.check_thread()
        stack = user_stack(sys._getframe(1))
        line = stack[0] if stack else None
        self.record.entries.append(Call(kind, self.record.steps, line, stream, event))

    def wait(
        self, api: str, kind: CallKind, stream: int | None = None, event: int = -1
    ) -> None:
        """Write down that the program called for a wait: of a stream, by default the
        current one, or what else ``kind`` says."""
        self.call(kind, self.current_stream if stream is None else stream, event)
        self.sync(api, "facade")

    @contextmanager
    def in_backward(self) -> Iterator[None]:
        """Mark operators in the block as backward's: autograd calls them at its end,
        outside of its nodes."""
        former, self._in_backward = self._in_backward, True
        try:
            yield
        finally:
            self._in_backward = former

    def _where(self, node: Any) -> tuple[Phase, str]:
        """Return in which part of a step the program is, and in which module, or whose
        step."""
        optimizer = self.place.optimizer
        own: Phase = "optimizer" if optimizer else "forward"
        backward = node is not None or self._in_backward
        phase: Phase = "backward" if backward else own
        return phase, optimizer or self.place.module


@cache
def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def info_of(tensor: Tensor) -> TensorInfo:
    """Describe a tensor; one on "meta" is on the device."""
    strided = tensor.layout == torch.strided
    return _interned(
        tuple(tensor.shape),
        _dtype_name(tensor.dtype),
        tensor.stride() if strided else (1,) * tensor.dim(),
        "cuda" if tensor.device.type == "meta" else "cpu",
    )


# The same object for the same tensor: lists of an optimizer are most of a record.
_interned = lru_cache(maxsize=1 << 16)(TensorInfo)


def plain(value: Any) -> Any:
    """Return an argument without tensors and torch's own types, as `Op` has it."""
    if isinstance(value, Tensor):
        return info_of(value)
    if isinstance(value, list | tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, bool | int | float | str | complex) or value is None:
        return value
    return str(value).removeprefix("torch.")
