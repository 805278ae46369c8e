# SPDX-License-Identifier: BSD-3-Clause
"""limits.py: what ends a dry run that does not end by itself. Loads no torch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from copy import copy
from types import FrameType

from torchtraceap.dryrun.lines import user_stack
from torchtraceap.dryrun.record import Record
from torchtraceap.errors import DryRunLimit

_LOOK_EVERY = 64  # Operators between two looks at the clock.


class Limits:
    """Counts operators and time.

    Args:
        record: What the run writes down.
        max_ops: Operators after which it is ended.
        max_seconds: The same of time, from now on.
    """

    def __init__(self, record: Record, max_ops: int, max_seconds: float) -> None:
        self._record = record
        self._ops = 0
        self._max_ops = max_ops
        self._max_seconds = max_seconds
        self._until = time.monotonic() + max_seconds
        #: The error of the limit that was reached first, which a program may catch.
        self.hit: DryRunLimit | None = None
        #: Makes what is raised of it.
        self.raising: Callable[[DryRunLimit], BaseException] = lambda error: error

    @property
    def seconds_left(self) -> float:
        """How long it may go on; not below 0."""
        return max(0.0, self._until - time.monotonic())

    def count(self) -> None:
        """Count an operator; DryRunLimit if it is one too many, or the time is over."""
        self._ops += 1
        if self._ops > self._max_ops:
            done = f"{self._max_ops:,} operators"
            raise self.raising(self._reached(done, "max_ops", sys._getframe(1)))
        if self._ops % _LOOK_EVERY == 0 and not self.seconds_left:
            raise self.raising(self.out_of_time(sys._getframe(1)))

    def out_of_time(self, frame: FrameType | None) -> DryRunLimit:
        """Return the error of a run whose time is over while a frame is running; that
        of the limit that was reached before, if one was."""
        done = f"{self._max_seconds:g} s and {self._ops:,} operators"
        return self._reached(done, "max_seconds", frame)

    def _reached(self, done: str, limit: str, frame: FrameType | None) -> DryRunLimit:
        if self.hit is None:
            self.hit = self._error(done, limit, frame)
        # One that was raised again and again, by whatever thread, would keep the frames
        # of all these times, with their tensors.
        return copy(self.hit)

    def _error(self, done: str, limit: str, frame: FrameType | None) -> DryRunLimit:
        stack = user_stack(frame)
        at = f"at {stack[0]}, " if stack else ""
        done = f"the dry run was ended {at}after {done}"
        guesses = (s for s in reversed(self._record.syncs) if s.value == "guessed")
        guess = next(guesses, None)

        def text(limit: str, values: str, less: str) -> str:
            hint = "If it does not hang there, "
            if guess is not None:
                where = f"read last at {guess.line}, " if guess.line else ""
                hint = (
                    f"If it hangs on a guessed value, {where}"
                    f"take {values} on a small input. Else "
                )
            return f"{done} ({limit}). {hint}{less} {limit}"

        option = f"--{limit.replace('_', '-')}"
        return DryRunLimit(
            text(limit, 'values="all"', "run fewer steps, or raise")
            + ". What was found until then is in run.summary()",
            text(option, "--values all", "take fewer --steps, or raise"),
        )
