# SPDX-License-Identifier: BSD-3-Clause
"""interrupts.py: KeyboardInterrupt ends a program also where Python would lose it.

What is raised in a finalizer, such as that of a tensor's memory, is printed and
forgotten. A dry run makes many of these, so Ctrl-C meets one now and then. And a
process in the background of a shell, as after ``nohup``, ignores the signal by which
another thread reaches a main one that waits.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchtraceap.dryrun.script.time_limit import TimeUp

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_LATER_S = 0.02  # By then a finalizer is done.
_AGAIN_S = 2.0  # By then a program that was interrupted has ended.


@contextmanager
def not_lost() -> Iterator[None]:
    """Raise KeyboardInterrupt again, in the block, where it was raised in vain."""
    former = sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            # Not threading's, which a dry run watches.
            _thread.start_new_thread(_interrupt_later, ())
        elif not issubclass(lost.exc_type, TimeUp):  # It comes again by itself.
            former(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = former


class MainInterrupt:
    """Lets another thread end what the main one does, by KeyboardInterrupt, for the
    time of a block there.

    Where the process ignores Ctrl-C it still does. A program that handles SIGINT itself
    has its handler called.
    """

    def __init__(self) -> None:
        self._begun = self._over = False

    def __enter__(self) -> MainInterrupt:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def begin(self) -> None:
        """Raise it, also where the main thread waits, until that leaves the block: what
        is raised may be lost or caught."""
        self._begun = True
        # Not threading's, which a dry run watches.
        _thread.start_new_thread(self._repeat, ())

    def _repeat(self) -> None:
        while not self._over:
            interrupt_main()
            time.sleep(_AGAIN_S)

    def _handle(self, number: int, frame: object) -> None:
        if self._begun and not self._over:
            raise KeyboardInterrupt


def _interrupt_later() -> None:
    time.sleep(_LATER_S)
    interrupt_main()


def interrupt_main() -> None:
    """Raise KeyboardInterrupt in the main thread, also where that waits."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)  # It ends a sleep, too.
    else:
        _thread.interrupt_main()
