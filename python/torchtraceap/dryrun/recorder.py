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
from torchtraceap.dryrun.device.memory import made_of, say_made
from torchtraceap.dryrun.device.nested import tensors_in
from torchtraceap.dryrun.estimate.gpus import Gpu
from torchtraceap.dryrun.forward_ops import ForwardOps
from torchtraceap.dryrun.host_threads import HostThreads, Made
from torchtraceap.dryrun.limits import Limits
from torchtraceap.dryrun.lines import frame_at, library_line, user_stack
from torchtraceap.dryrun.modules import Place
from torchtraceap.dryrun.plain_values import info_of, plain
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
    Value,
)
from torchtraceap.dryrun.recording_lock import LOCK
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
        self._events: dict[int, Made] = {}  # where each was recorded last
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
            self._forward.clear()

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
    ) -> None:
        """Write down an operator that ran now; DryRunLimit if it is one too many.

        Tensors of ``args`` and ``outputs`` that are "meta" are on the device.
        """
        stack = user_stack(sys._getframe(2))
        outputs = tuple(outputs)
        with LOCK:
            self._count()
            at, node = len(self.record.entries), _current_node()
            thread = self.threads.number
            stack = self._stacks.setdefault(stack, stack)
            optimizer = self.place.optimizer
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
                "optimizer" if optimizer else "forward",
                stack[0] if stack else None,
                optimizer or self.place.module,
                self.current_stream,
                stack=stack,
                copy=copy,
                is_view=is_view,
                thread=thread,
            )
            if self.threads.several:
                given = list(tensors_in([*args, *kwargs.values()]))
                entry.after = self.threads.entered(at, made_of(given))
                self._forward.meet(thread, given)
                if not is_view:
                    say_made(outputs, self.threads.made(at))
            else:
                self.threads.entered(at, ())
            if node is not None:
                self._of_backward(entry, node)
            if torch.is_grad_enabled():
                self._forward.keep(thread, at)
            self.record.entries.append(entry)

    def _of_backward(self, entry: Op, node: Any) -> None:
        entry.phase = "backward"
        entry.caller = entry.line
        entry.forward = self._forward.of(entry.thread, node)
        if entry.forward is not None:
            made = self.record.entries[entry.forward]
            assert isinstance(made, Op)
            entry.line, entry.module = made.line, made.module

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
        stack, inner = user_stack(frame), library_line(frame)
        text = written(frame_at(frame, stack[0])) if stack else ""
        with LOCK:
            self.record.syncs.append(
                Sync(
                    api,
                    how,
                    value,
                    self.record.steps,
                    self._phase(),
                    stack[0] if stack else None,
                    self.place.optimizer or self.place.module,
                    self.threads.last,
                    stack,
                    inner if stack and inner != stack[0] else None,
                    text,
                    self.threads.number,
                )
            )

    def call(self, kind: Any, stream: int = DEFAULT_STREAM, event: int = -1) -> None:
        """Write down that the host orders streams."""
        stack = user_stack(sys._getframe(1))
        line = stack[0] if stack else None
        with LOCK:
            at, thread = len(self.record.entries), self.threads.number
            entry = Call(kind, self.record.steps, line, stream, event, thread)
            waits = kind in ("stream_wait", "event_sync") and event in self._events
            entry.after = self.threads.entered(
                at, [self._events[event]] if waits else []
            )
            if kind == "event_record":
                self._events[event] = self.threads.made(at)
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

    def _phase(self) -> Phase:
        if _current_node() is not None:
            return "backward"
        return "optimizer" if self.place.optimizer else "forward"
