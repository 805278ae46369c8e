# SPDX-License-Identifier: BSD-3-Clause
"""recording.py: records a block of code with torch's profiler, for both fixtures."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from torchtraceap.analysis import analyze
from torchtraceap.base.arguments import checked_int
from torchtraceap.profiling import slot
from torchtraceap.report import Report

if TYPE_CHECKING:
    from torchtraceap.profiling.recorder import CycleRecorder  # defined with torch


class Recording:
    """Records from `start`, or from the end of the warm-up, to `stop`.

    Args:
        fixture: Which of the fixtures asks.
        warmup: How many calls of `step` come before the recording; the last iteration
            of them also warms the profiler up.
        stacks: Record Python's stacks, which findings have their lines from.

    `start` loads torch, and raises RuntimeError if a profiler is running already.
    """

    def __init__(self, fixture: str, *, warmup: int = 0, stacks: bool = True) -> None:
        self._fixture = fixture
        self._warmup = checked_int("warmup", warmup, 0, sys.maxsize)
        self._stacks = stacks
        self._steps = 0
        self._recorder: CycleRecorder | None = None  # None once it was taken away
        #: Whether a GPU was recorded; known from `start` on.
        self.on_gpu = False

    @property
    def profiler(self) -> Any:
        """Torch's; None if it was taken away."""
        return self._recorder and self._recorder.profiler

    @property
    def is_lost(self) -> bool:
        """Whether another profiler ended it; known once it is over."""
        from torchtraceap.profiling import live

        return self.profiler is None or live.is_lost(self.profiler)

    def start(self) -> None:
        __tracebackhide__ = True
        import torch
        from torch.profiler import ProfilerAction, ProfilerActivity

        from torchtraceap.profiling.recorder import CycleRecorder

        def action(step: int) -> Any:
            if step >= self._warmup:
                return ProfilerAction.RECORD
            last = step == self._warmup - 1
            return ProfilerAction.WARMUP if last else ProfilerAction.NONE

        try:
            slot.take(self)
        except RuntimeError:
            raise RuntimeError(
                "a profiler is running already, and only one can run at a time: "
                f"use {self._fixture} outside of it"
            ) from None
        try:
            self.on_gpu = torch.cuda.is_available()
            activities = [ProfilerActivity.CPU]
            if self.on_gpu:
                activities.append(ProfilerActivity.CUDA)
                torch.cuda.synchronize()  # what was queued before is not part of it
            # With a schedule, each step is marked in the trace.
            options = {
                "activities": activities,
                "with_stack": self._stacks,
                "record_shapes": True,
            }
            self._recorder = CycleRecorder(action, options, lambda prof: None)
            self._recorder.start()
        except BaseException:
            slot.give_back(self)
            raise

    def step(self) -> None:
        self._steps += 1
        if self._recorder is None:
            return  # taken away; `stop` says so
        try:
            self._recorder.step()
        except slot.TakenAwayError:
            self._let_go()

    def abandon(self) -> None:
        """End after an error of the code under test, of which nothing is asked."""
        try:
            if self._recorder is not None:
                self._recorder.stop()
        except slot.TakenAwayError:
            self._let_go()
        finally:
            slot.give_back(self)

    def stop(self, **options: Any) -> Report:
        """End, and analyze with these options of ``analyze``.

        Raises ValueError if the warm-up was not over, RuntimeError if it `is_lost`, and
        the errors of ``analyze``.
        """
        __tracebackhide__ = True
        import torch

        missing = max(0, self._warmup - self._steps)
        if self.on_gpu and not missing:
            torch.cuda.synchronize()  # what was launched is part of it
        self.abandon()
        if missing:
            raise ValueError(
                f"nothing was recorded: the block ended {missing} calls of step() "
                "before the end of warmup"
            )
        if self.is_lost:
            raise RuntimeError(
                "nothing was recorded: the code under test uses torch's profiler "
                "itself, and only one can run at a time. Take one of the two out."
            )
        report: Report = analyze(self.profiler, **options)
        return report

    def _let_go(self) -> None:
        if self._recorder is not None:
            self._recorder.abandon()
            self._recorder = None
