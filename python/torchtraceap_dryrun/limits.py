# SPDX-License-Identifier: BSD-3-Clause
"""limits.py: what ends a dry run that does not end by itself. Loads no torch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from copy import copy

from torchtraceap.base.errors import DryRunLimit
from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.lines import user_stack
from torchtraceap_dryrun.record import Record

_LOOK_EVERY = 64  # Operators between two looks at the clock.


class Limits:
    """Counts operators and time, from now on."""

    def __init__(self, record: Record, max_ops: int, max_seconds: float) -> None:
        self._record = record
        self.ops = 0  #: That ran.
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
        self.ops += 1
        if self.ops > self._max_ops:
            done = f"{self._max_ops:,} operators"
            raise self._reached(done, "max_ops")
        if self.ops % _LOOK_EVERY == 0 and not self.seconds_left:
            done = f"{self._max_seconds:g} s and {self.ops:,} operators"
            raise self._reached(done, "max_seconds")

    def _reached(self, done: str, limit: str) -> BaseException:
        if self.hit is None:
            stack = user_stack(sys._getframe(1))
            line = stack[0] if stack else None
            self.hit = limit_error(self._record, done, limit, line)
        # One that was raised again and again would keep the frames of all these times,
        # with their tensors.
        return self.raising(copy(self.hit))


def limit_error(
    record: Record, done: str, limit: str, line: Line | None
) -> DryRunLimit:
    """Return the error of a run that reached a limit: how far it came, and the user's
    line that was running."""
    at = f"at {line}, " if line else ""
    done = f"the dry run was ended {at}after {done}"
    guesses = (s for s in reversed(record.syncs) if s.value == "guessed")
    guess = next(guesses, None)

    def text(limit: str, values: str, less: str) -> str:
        hint = "If it does not hang there, "
        if guess is not None:
            where = f"read last at {guess.line}, " if guess.line else ""
            hint = (
                f"If it depends on a guessed value, {where}"
                f"take {values} on a small input. Else "
            )
        return f"{done} ({limit}). {hint}{less} {limit}"

    option = f"--{limit.replace('_', '-')}"
    return DryRunLimit(
        text(limit, 'values="all"', "run fewer steps, or raise")
        + ". Results until then are in run.summary()",
        text(option, "--values all", "take fewer --steps, or raise"),
    )
