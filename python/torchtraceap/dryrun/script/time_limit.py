# SPDX-License-Identifier: BSD-3-Clause
"""time_limit.py: ends a program that reached a limit, also where it runs no operator.

Operators look at the clock themselves (limits.py); a program that runs none, because it
sleeps or loops on the host, does not. A timer of the system reaches that, too; and the
main thread of one whose last step another thread made. What it raises a program may
catch, and go on: so that is asked for a few times only.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.limits import Limits
from torchtraceap.errors import DryRunLimit

#: A program that is told to end is told again after so long, as what is raised in a
#: finalizer is lost. By this number, of which the clock keeps every bit, the timer is
#: known.
_AGAIN_S = 2.03125
_LEAST_S = 1e-3  # 0 would be no timer.
#: So often it is raised: one may be lost, and a second one retried. Who catches three
#: catches all.
_MOST_RAISED = 3
#: So often it rings: a program that is ending, in a `finally` which writes a
#: checkpoint, is given this many times `_AGAIN_S`, about half a minute.
_MOST_RINGS = 16


class End(BaseException):
    """Ends a program.

    No Exception, as SystemExit is none: programs catch those and go on.
    """


class TimeUp(End):
    """Ends a program that reached a limit."""

    def __init__(self, limit: DryRunLimit) -> None:
        super().__init__(str(limit))
        self.limit = limit


class TimeLimit:
    """Raises `TimeUp` in its block when the time is over.

    That needs the main thread, a system with SIGALRM, and that neither this process nor
    the program takes that signal for itself; else it does nothing. A program that
    takes it later has it from then on. Python runs no handler while it is in a call of
    C that does not come back.

    Args:
        limits: Of the run.
        give_up: Called in the midst of the program if that goes on all the same, with
            what it caught: is to end the process. None: it is let go on.
    """

    def __init__(
        self, limits: Limits, give_up: Callable[[End], object] | None = None
    ) -> None:
        self._limits, self._give_up = limits, give_up
        self._of_python = signal.signal
        self._replaced = Replacements()
        self._is_set = False
        self._over = False  # The block is, or the program: a late ring does nothing.
        self._ordered: type[End] | None = None
        # So that no ring is ordered once the timer is given back; a ring may come while
        # its own thread holds it.
        self._lock = threading.RLock()
        self._seen = False  # By an operator.
        self._raised = self._rings = 0

    def __enter__(self) -> TimeLimit:
        self._limits.raising = self._of_operator
        if _is_free():
            self._is_set = True
            self._replaced.set(signal, "signal", self._set_handler)
            self._of_python(signal.SIGALRM, self._ring)
            first = max(self._limits.seconds_left, _LEAST_S)
            signal.setitimer(signal.ITIMER_REAL, first, _AGAIN_S)
        return self

    def __exit__(self, *_: object) -> None:
        # First: what follows must not be broken off, nor what comes after the block.
        self._over = True
        self._limits.raising = lambda limit: limit
        self._replaced.undo()
        if self._has_timer:
            self._give_back()

    def order(self, end: type[End], at_once: bool) -> bool:
        """Let the program be ended as at a limit, by an order of any thread.

        Args:
            end: What is raised.
            at_once: Whether it is raised now; else if the program goes on for
                `_AGAIN_S`, as the thread that orders raises it itself.

        Returns:
            Whether there is a timer to do so.
        """
        with self._lock:
            if self._over or not self._has_timer:
                return False
            if self._ordered is None:  # Else it would be put off by each order.
                self._ordered = end
                first = _LEAST_S if at_once else _AGAIN_S
                signal.setitimer(signal.ITIMER_REAL, first, _AGAIN_S)
            return True

    @property
    def _has_timer(self) -> bool:
        """Whether it took the timer, and the program did not."""
        return self._is_set and signal.getsignal(signal.SIGALRM) == self._ring

    def _give_back(self) -> None:
        with self._lock:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._of_python(signal.SIGALRM, signal.SIG_DFL)

    def _of_operator(self, limit: DryRunLimit) -> BaseException:
        """Return what an operator raises, and see to it that the program ends."""
        if threading.current_thread() is not threading.main_thread():
            return limit
        # Once: else it would be put off by each operator.
        if self._has_timer and not (self._seen or self._ordered):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
        self._seen = True
        return TimeUp(limit)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._over or self._is_own(frame):
            return
        _, again = signal.getitimer(signal.ITIMER_REAL)
        if again != _AGAIN_S:  # The program set a timer, which is to end it.
            self._of_python(signal.SIGALRM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGALRM)
        self._rings += 1
        is_ending = _is_ending()
        goes_on = self._raised >= _MOST_RAISED and not is_ending
        if self._give_up is not None and (goes_on or self._rings > _MOST_RINGS):
            self._over = True
            self._give_up(self._end(frame))
        elif not is_ending:  # Else its `finally` would be broken off.
            self._raised += 1
            raise self._end(frame)

    def _end(self, frame: FrameType | None) -> End:
        if self._ordered is not None:
            return self._ordered()
        return TimeUp(self._limits.out_of_time(frame))

    def _is_own(self, frame: FrameType | None) -> bool:
        """Tell whether this object begins or ends just now. A ring that it ignores as
        it begins comes again."""
        own = (TimeLimit.__enter__.__code__, TimeLimit.__exit__.__code__)
        for _ in range(4):  # They call little, and nothing deep.
            if frame is None:
                return False
            if frame.f_code in own and frame.f_locals.get("self") is self:
                return True
            frame = frame.f_back
        return False

    def _set_handler(self, number: int, handler: Any) -> Any:
        """Stand in for signal.signal."""
        if number == signal.SIGALRM and self._has_timer:
            self._give_back()  # As it is for a program.
        return self._of_python(number, handler)


def _is_ending() -> bool:
    """Tell whether what the signal came into runs because of an `End`: a `finally`, an
    `except` or the end of a `with`."""
    error, seen = sys.exc_info()[1], set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, End):
            return True
        seen.add(id(error))
        error = error.__context__
    return False


def _is_free() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    if not hasattr(signal, "SIGALRM"):
        return False
    of_others = signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
    return not of_others and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
