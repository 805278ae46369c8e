# SPDX-License-Identifier: BSD-3-Clause
"""recorder.py: writes a `Record` while a program runs. Loads torch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from torchtraceap.dryrun.device.live_memory import LiveMemory
from torchtraceap.dryrun.estimate.gpus import Gpu
from torchtraceap.dryrun.limits import Limits
from torchtraceap.dryrun.lines import frame_at, library_line, user_stack
from torchtraceap.dryrun.modules import Place
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.record import (
    DEFAULT_STREAM,
    Call,
    Copy,
    How,
    Op,
    Phase,
    Record,
    Sync,
    TensorInfo,
    Value,
)
from torchtraceap.dryrun.waits.written import written
from torchtraceap.source_lines import Line

_current_node = private("torch._C._current_autograd_node")
_next_sequence = private("torch._C._autograd._get_sequence_nr")


class Recorder:
    """What operators, the facade of torch.cuda and the user's own calls of step() tell.

    Args:
        gpu: The device that there seems to be.
        max_ops: Operators after which the run is ended.
        max_seconds: The same of time.
    """

    def __init__(self, gpu: Gpu, max_ops: int, max_seconds: float) -> None:
        self.gpu = gpu
        self.record = Record()
        self.live = LiveMemory(self.record)
        self.place = Place()
        self.current_stream = DEFAULT_STREAM
        self.limits = Limits(self.record, max_ops, max_seconds)
        self._made_by: dict[int, int] = {}  # autograd's sequence number: entry
        self._noted: set[str] = set()
        # Each once: a program has few of them, and a record may have a million entries.
        self._stacks: dict[tuple[Line, ...], tuple[Line, ...]] = {}

    def step(self) -> None:
        """End a step."""
        self.record.steps += 1
        self._made_by.clear()

    def note(self, sentence: str) -> None:
        """Say once what is not as on a GPU."""
        if sentence not in self._noted:
            self._noted.add(sentence)
            self.record.notes.append(sentence)

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
        self.limits.count()
        stack = user_stack(sys._getframe(2))
        stack = self._stacks.setdefault(stack, stack)
        optimizer = self.place.optimizer
        entry = Op(
            name,
            overload,
            tuple(_plain(value) for value in args),
            {key: _plain(value) for key, value in kwargs.items() if value is not None},
            tuple(_info(one) for one in outputs),
            self.record.steps,
            "optimizer" if optimizer else "forward",
            stack[0] if stack else None,
            optimizer or self.place.module,
            self.current_stream,
            stack=stack,
            copy=copy,
            is_view=is_view,
        )
        at = len(self.record.entries)
        node = _current_node()
        if node is not None:
            self._of_backward(entry, node)
        elif torch.is_grad_enabled():
            # The node of an operator is made before it is dispatched; its first
            # operator counts.
            self._made_by.setdefault(_next_sequence() - 1, at)
        self.record.entries.append(entry)

    def _of_backward(self, entry: Op, node: Any) -> None:
        entry.phase = "backward"
        entry.caller = entry.line
        entry.forward = self._made_by.get(node._sequence_nr())
        if entry.forward is not None:
            made = self.record.entries[entry.forward]
            assert isinstance(made, Op)
            entry.line, entry.module = made.line, made.module

    # --- Waits -----------------------------------------------------------------------

    def sync(self, api: str, how: How, value: Value = "none") -> None:
        """Write down that the host waited for the entry written last."""
        frame = sys._getframe(1)
        stack = user_stack(frame)
        inner = library_line(frame)
        self.record.syncs.append(
            Sync(
                api,
                how,
                value,
                self.record.steps,
                self._phase(),
                stack[0] if stack else None,
                self.place.optimizer or self.place.module,
                len(self.record.entries) - 1,
                stack,
                inner if stack and inner != stack[0] else None,
                written(frame_at(frame, stack[0])) if stack else "",
            )
        )

    def call(self, kind: Any, stream: int = DEFAULT_STREAM, event: int = -1) -> None:
        """Write down that the host orders streams."""
        stack = user_stack(sys._getframe(1))
        line = stack[0] if stack else None
        self.record.entries.append(Call(kind, self.record.steps, line, stream, event))

    def wait(self, api: str) -> None:
        """Write down that the program called for a wait, after its `call`."""
        self.sync(api, "facade")

    def memory(self) -> tuple[int, int]:
        """Return the bytes that tensors take now, and the most since `reset_peak`."""
        return self.live.now, self.live.peak

    def reset_peak(self) -> None:
        """Begin to look for the most anew."""
        self.live.peak = self.live.now

    def _phase(self) -> Phase:
        if _current_node() is not None:
            return "backward"
        return "optimizer" if self.place.optimizer else "forward"


_DTYPES: dict[torch.dtype, str] = {}


def _dtype_name(dtype: torch.dtype) -> str:
    name = _DTYPES.get(dtype)
    if name is None:
        name = _DTYPES[dtype] = str(dtype).removeprefix("torch.")
    return name


def _info(tensor: Tensor) -> TensorInfo:
    strided = tensor.layout == torch.strided
    return _interned(
        tuple(tensor.shape),
        _dtype_name(tensor.dtype),
        tensor.stride() if strided else (1,) * tensor.dim(),
        "cuda" if tensor.device.type == "meta" else "cpu",
    )


# The same object for the same tensor: lists of an optimizer are most of a record.
_interned = lru_cache(maxsize=1 << 16)(TensorInfo)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _info(value)
    if isinstance(value, list | tuple):
        return tuple(_plain(one) for one in value)
    if isinstance(value, bool | int | float | str | complex) or value is None:
        return value
    return str(value).removeprefix("torch.")
