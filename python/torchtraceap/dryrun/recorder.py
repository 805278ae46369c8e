# SPDX-License-Identifier: BSD-3-Clause
"""recorder.py: writes a `Record` while a program runs. Loads torch."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap.dryrun.device.live_memory import LiveMemory
from torchtraceap.dryrun.device.nested import tensors_in
from torchtraceap.dryrun.estimate.gpus import Gpu
from torchtraceap.dryrun.forward_ops import ForwardOps
from torchtraceap.dryrun.host_threads import HostThreads
from torchtraceap.dryrun.limits import Limits
from torchtraceap.dryrun.lines import frame_at, library_line, user_stack
from torchtraceap.dryrun.modules import Place
from torchtraceap.dryrun.plain_values import info_of, plain
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.record import (
    DEFAULT_STREAM,
    Call,
    CallKind,
    Copy,
    How,
    Op,
    Phase,
    Record,
    Sync,
    Value,
)
from torchtraceap.dryrun.recording_lock import LOCK
from torchtraceap.dryrun.thread_order import ThreadOrder
from torchtraceap.dryrun.waits.written import written
from torchtraceap.errors import DryRunLimit
from torchtraceap.source_lines import Line

_current_node = private("torch._C._current_autograd_node")


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
        self.threads = HostThreads(self.record, self.note)
        self.limits = Limits(self.record, max_ops, max_seconds)
        self._forward = ForwardOps(self.record, self.threads)
        self._order = ThreadOrder(self.threads)
        self._noted: set[str] = set()
        # Each once: a program has few of them, and a record may have a million entries.
        self._stacks: dict[tuple[Line, ...], tuple[Line, ...]] = {}

    @classmethod
    def ended(cls, gpu: Gpu) -> Recorder:
        """Return one that refuses to write anything down."""
        recorder = cls(gpu, sys.maxsize, math.inf)
        recorder.threads.end()
        return recorder

    def step(self) -> None:
        """End a step."""
        with LOCK:
            self.record.steps += 1
            self._forward.end_step()

    def note(self, sentence: str) -> None:
        """Say once what is not as on a GPU."""
        with LOCK:
            if sentence not in self._noted:
                self._noted.add(sentence)
                self.record.notes.append(sentence)

    @property
    def current_stream(self) -> int:
        """The number of the current stream: each thread has one, as in CUDA."""
        return self.threads.stream

    @current_stream.setter
    def current_stream(self, number: int) -> None:
        self.threads.stream = number

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
        wrote_to: Iterable[Tensor] = (),
    ) -> None:
        """Write down an operator that ran now; DryRunLimit if it is one too many.

        Tensors of ``args`` and ``outputs`` that are "meta" are on the device. What it
        ``wrote_to`` need not be among the outputs: lists are not.
        """
        stack = user_stack(sys._getframe(2), self.threads.begun_at)
        outputs = tuple(outputs)
        with LOCK:
            self._count()
            at, node = len(self.record.entries), _current_node()
            thread = self.threads.number
            stack = self._stacks.setdefault(stack, stack)
            phase, module = self._where(node)
            entry = Op(
                name,
                overload,
                tuple(plain(value) for value in args),
                {
                    key: plain(value)
                    for key, value in kwargs.items()
                    if value is not None
                },
                tuple(info_of(one) for one in outputs),
                self.record.steps,
                phase,
                stack[0] if stack else None,
                module,
                self.current_stream,
                stack=stack,
                copy=copy,
                is_view=is_view,
                thread=thread,
            )
            if self.threads.several:
                given = list(tensors_in([*args, *kwargs.values()]))
                made = () if is_view else (*outputs, *wrote_to)
                entry.after = self._order.of_op(at, given, made)
                self._forward.meet(thread, given)
            else:  # It comes after none of another, so no tensor needs to be asked.
                self.threads.entered(at, ())
            if node is not None:
                self._forward.link(entry, node)
            if torch.is_grad_enabled():
                self._forward.keep(thread, at)
            self.record.entries.append(entry)

    def _count(self) -> None:
        try:
            self.limits.count()
        except DryRunLimit:
            if number := self.threads.number:  # It may never come out of that thread.
                name = self.record.threads[number]
                self.note(f"the thread {name!r} was ended by max_ops or max_seconds")
            raise

    # --- Waits -----------------------------------------------------------------------

    def sync(self, api: str, how: How, value: Value = "none") -> None:
        """Write down that the host waited for what its thread wrote down last."""
        frame = sys._getframe(1)
        stack = user_stack(frame, self.threads.begun_at)
        inner = library_line(frame)
        text = written(frame_at(frame, stack[0])) if stack else ""
        with LOCK:
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
                    self.threads.last,
                    stack=stack,
                    inner=inner if stack and inner != stack[0] else None,
                    written=text,
                    thread=self.threads.number,
                )
            )

    def call(
        self, kind: CallKind, stream: int = DEFAULT_STREAM, event: int = -1
    ) -> None:
        """Write down that the host orders streams."""
        stack = user_stack(sys._getframe(1), self.threads.begun_at)
        line = stack[0] if stack else None
        with LOCK:
            at, thread = len(self.record.entries), self.threads.number
            entry = Call(kind, self.record.steps, line, stream, event, thread)
            entry.after = self._order.of_call(at, kind, event)
            self.record.entries.append(entry)

    def wait(self, api: str) -> None:
        """Write down that the program called for a wait, after its `call`."""
        self.sync(api, "facade")

    def memory(self) -> tuple[int, int]:
        """Return the bytes that tensors take now, and the most since `reset_peak`."""
        with LOCK:
            return self.live.now, self.live.peak

    def reset_peak(self) -> None:
        """Begin to look for the most anew."""
        with LOCK:
            self.live.peak = self.live.now

    def _where(self, node: Any) -> tuple[Phase, str]:
        """Return in which part of a step the program is, and in which module, or whose
        step."""
        optimizer = self.place.optimizer
        own: Phase = "optimizer" if optimizer else "forward"
        phase: Phase = own if node is None else "backward"
        return phase, optimizer or self.place.module
