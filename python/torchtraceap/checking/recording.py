# SPDX-License-Identifier: BSD-3-Clause
"""recording.py: records a block of code with torch's profiler, for `trace_check`."""

from __future__ import annotations

from typing import Any

from torchtraceap.analysis import analyze
from torchtraceap.report import Report


class Recording:
    """Records from `start`, or from the end of the warm-up, to `stop`.

    Args:
        warmup: How many calls of `step` come before the recording; the last iteration
            of them also warms the profiler up.
        stacks: Record Python's stacks, which findings have their lines from.

    `start` loads torch, and raises RuntimeError if a profiler is running already.
    """

    def __init__(self, *, warmup: int = 0, stacks: bool = True) -> None:
        if isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 0:
            raise ValueError(f"warmup must be a number from 0 on, but is {warmup!r}")
        self._warmup = warmup
        self._stacks = stacks
        self._steps = 0
        self._prof: Any = None
        #: Whether a GPU was recorded; known from `start` on.
        self.on_gpu = False

    @property
    def missing_steps(self) -> int:
        """How many calls of `step` the warm-up still waits for."""
        return max(0, self._warmup - self._steps)

    def start(self) -> None:
        __tracebackhide__ = True
        __tracebackhide__ = True
        import torch
        from torch.profiler import ProfilerAction, ProfilerActivity, profile

        if torch.autograd._profiler_enabled():
            raise RuntimeError(
                "a profiler is running already, and only one can run at a time: "
                "use trace_check outside of it"
            )

        def action(step: int) -> Any:
            if step >= self._warmup:
                return ProfilerAction.RECORD
            last = step == self._warmup - 1
            return ProfilerAction.WARMUP if last else ProfilerAction.NONE

        self.on_gpu = torch.cuda.is_available()
        activities = [ProfilerActivity.CPU]
        if self.on_gpu:
            activities.append(ProfilerActivity.CUDA)
            torch.cuda.synchronize()  # what was queued before is not part of it
        # With a schedule, each step is marked in the trace.
        self._prof = profile(
            activities=activities,
            schedule=action,
            with_stack=self._stacks,
            record_shapes=True,
        )
        self._prof.start()

    def step(self) -> None:
        self._steps += 1
        self._prof.step()

    def abandon(self) -> None:
        # Stopping a profiler that another one ended is harmless, exporting is not.
        self._prof.stop()

    def stop(self, **options: Any) -> Report:
        """End, and analyse with these options of ``analyze``.

        Raises ValueError if the warm-up was not over, RuntimeError if another profiler
        ended this one, and what analysing raises.
        """
        __tracebackhide__ = True
        import torch

        own = torch.autograd._profiler_enabled() or self.missing_steps > 0
        if own and self.on_gpu and not self.missing_steps:
            torch.cuda.synchronize()  # what was launched is part of it
        self._prof.stop()
        if self.missing_steps:
            raise ValueError(
                f"nothing was recorded: the block ended {self.missing_steps} calls of "
                "step() before the end of warmup"
            )
        if not own:
            raise RuntimeError(
                "nothing was recorded: the code under test uses torch's profiler "
                "itself, and only one can run at a time. Take one of the two out."
            )
        report: Report = analyze(self._prof, **options)
        return report
