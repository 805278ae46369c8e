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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torchtraceap.dryrun.script.time_limit import TimeUp

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_LATER_S = 0.02  # By then a finalizer is done.
_AGAIN_S = 2.0  # By then a program that was interrupted has ended.


class MainInterrupt:
    """Sees to it that KeyboardInterrupt reaches what the main thread does in a block.

    One that is lost there is raised again, and another thread may ask for one. Where
    the process ignores Ctrl-C it still does. A program that handles SIGINT itself has
    its handler called.
    """

    def __init__(self) -> None:
        self._former: Any = None  # The handler of SIGINT, if ours stands in for it.
        self._asked = self._left = self._over = False
        self._lock = threading.Lock()  # So that none is sent after the end.

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Do so in a block, and nothing later; for the main thread. Of another one only
        what is lost is raised again."""
        former = sys.unraisablehook

        def hook(lost: UnraisableHookArgs) -> None:
            if issubclass(lost.exc_type, KeyboardInterrupt):
                if not self._asked:  # Else it comes again by itself.
                    self._start(self._send_later)
            elif not issubclass(lost.exc_type, TimeUp):  # It does, too.
                former(lost)

        sys.unraisablehook = hook
        try:
            self._handle_it()
            yield
        finally:
            try:
                self._end()
            finally:  # It may come as that begins, and then not so soon again.
                self._end()
                sys.unraisablehook = former

    def ask(self) -> None:
        """Raise it, also where the main thread waits, until that leaves the block: what
        is raised may be caught."""
        self._asked = True
        self._start(self._repeat)

    @staticmethod
    def _start(function: Callable[[], None]) -> None:
        # Not threading's, which a dry run watches.
        _thread.start_new_thread(function, ())

    def _send_later(self) -> None:
        time.sleep(_LATER_S)
        self._send()

    def _repeat(self) -> None:
        while not self._over:
            self._send()
            time.sleep(_AGAIN_S)

    def _send(self) -> None:
        with self._lock:
            if not self._over:
                _interrupt_main()

    def _handle_it(self) -> None:
        if threading.current_thread() is threading.main_thread():
            former = signal.getsignal(signal.SIGINT)
            if former in (signal.SIG_IGN, signal.default_int_handler):
                self._former = former
                signal.signal(signal.SIGINT, self._handler)

    def _handler(self, number: int, frame: object) -> None:
        ignored = self._former is signal.SIG_IGN and not self._asked
        if not (self._left or ignored):
            raise KeyboardInterrupt

    def _end(self) -> None:
        self._left = True  # From here on what was sent does nothing.
        with self._lock:
            self._over = True
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, ())  # Now it comes at the latest.
        if self._former and signal.getsignal(signal.SIGINT) == self._handler:
            signal.signal(signal.SIGINT, self._former)


def _interrupt_main() -> None:
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)  # It ends a sleep, too.
    else:
        _thread.interrupt_main()
