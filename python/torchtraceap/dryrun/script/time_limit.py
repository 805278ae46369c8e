# SPDX-License-Identifier: BSD-3-Clause
"""time_limit.py: ends a program when its time is over, whatever it does just then.

Operators look at the clock themselves (limits.py); a program that runs none, because it
sleeps or loops on the host, does not. A timer of the system reaches that, too.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.limits import Limits
from torchtraceap.errors import DryRunLimit

#: What is raised in a finalizer is lost: so it is raised again, after so long. By this
#: number, of which the clock keeps every bit, the timer is known.
_AGAIN_S = 2.03125
_LEAST_S = 1e-3  # 0 would be no timer.


class TimeUp(BaseException):
    """Ends a program whose time is over; no Exception, as SystemExit is none."""

    def __init__(self, limit: DryRunLimit) -> None:
        super().__init__(str(limit))
        self.limit = limit


@contextmanager
def ended_in_time(limits: Limits) -> Iterator[None]:
    """Raise `TimeUp` in the block when the time is over.

    That needs the main thread, a system with SIGALRM, and that neither this process nor
    the program takes that signal for itself; else nothing is done here. A program that
    takes it later has it from then on.
    """
    if not _is_free():
        yield
        return
    of_python = signal.signal

    def ring(number: int, frame: FrameType | None) -> None:
        _, again = signal.getitimer(signal.ITIMER_REAL)
        if again != _AGAIN_S:  # The program set a timer, which is to end it.
            of_python(signal.SIGALRM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGALRM)
        raise TimeUp(limits.out_of_time(frame))

    def set_handler(number: int, handler: Any) -> Any:
        if number == signal.SIGALRM and signal.getsignal(number) is ring:
            signal.setitimer(signal.ITIMER_REAL, 0)
            of_python(signal.SIGALRM, signal.SIG_DFL)  # what it was for the program
        return of_python(number, handler)

    with Replacements() as replaced:
        try:
            replaced.set(signal, "signal", set_handler)
            of_python(signal.SIGALRM, ring)
            first = max(limits.seconds_left, _LEAST_S)
            signal.setitimer(signal.ITIMER_REAL, first, _AGAIN_S)
            yield
        finally:
            if signal.getsignal(signal.SIGALRM) is ring:
                signal.setitimer(signal.ITIMER_REAL, 0)
                of_python(signal.SIGALRM, signal.SIG_DFL)


def _is_free() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    if not hasattr(signal, "SIGALRM"):
        return False
    of_others = signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
    return not of_others and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
