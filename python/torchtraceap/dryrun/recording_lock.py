# SPDX-License-Identifier: BSD-3-Clause
"""recording_lock.py: one thread at a time works out and writes down an operator.

Held for one operator, or one call of the facade. Code of the program that runs in that
time may wait for a lock of the program's whose holder waits for this one. So what can
do so without being called is put off: finalizers that Python's garbage collector runs,
and what shows warnings. What is left (kernels of the program's own operators,
objects that are freed at once, handlers of signals) ends in an error, not in a wait for
ever.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from torchtraceap.errors import DryRunError

#: So long a thread waits for one that holds it without a break. An operator that is
#: worked out with values="all" may well take minutes.
PATIENCE_S = 300.0


class RecordingLock:
    """A lock that the thread which holds it may take again: ``with LOCK: ...``."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0  # How often its holder has taken it.
        self._turns = 0  # How often it was taken while it was free.
        self._holder = 0  # Its thread's ident; 0: it is free.
        self._collects = False  # Whether garbage was collected before.
        self._later: list[Callable[[], None]] = []
        if hasattr(os, "register_at_fork"):
            # Else a child would inherit it as another thread held it.
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._lock.release,
            )

    def __enter__(self) -> None:
        """Take it, or wait for it.

        Raises:
            DryRunError: Another thread has held it for `PATIENCE_S` at least.
        """
        if not self._lock.acquire(False):
            self._wait()
        self._depth += 1
        if self._depth == 1:
            self._turns += 1
            self._holder = threading.get_ident()
            self._collects = gc.isenabled()
            gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._depth == 1:
            self._leave()
        else:
            self._depth -= 1
            self._lock.release()

    def _leave(self) -> None:
        later = self._later
        if later:
            self._later = []
        self._depth = self._holder = 0
        if self._collects:
            gc.enable()
        self._lock.release()
        for call in later:
            call()

    def let_go(self) -> None:
        """Release it, if the thread that asks holds it, where it cannot have to:
        Ctrl-C may come between the lines that take or release it."""
        if not self._lock.acquire(False):
            return  # Another thread has it.
        if self._depth:
            self._lock.acquire()  # That which `_leave` releases.
            self._leave()
        try:
            while True:
                self._lock.release()
        except RuntimeError:  # It is free, or that of another thread by now.
            pass

    def put_off(self, function: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a function that, called by the thread which holds this, does what
        another does only once it is released; else at once."""

        def call(argument: Any) -> None:
            if self._holder == threading.get_ident():
                self._later.append(partial(function, argument))
            else:
                function(argument)

        return call

    def _wait(self) -> None:
        while True:
            turn = self._turns
            if self._lock.acquire(timeout=PATIENCE_S):
                return
            if self._turns == turn:  # Else others take turns, and this one is late.
                break
        names = [t.name for t in threading.enumerate() if t.ident == self._holder]
        holder = repr(names[0]) if names else "that has ended"
        me = threading.current_thread().name
        raise DryRunError(
            f"the thread {me!r} has waited for {PATIENCE_S:g} s for the thread "
            f"{holder} to end one operator. If that is none of many minutes, which "
            'values="small" saves, each waits for a lock of the other: code of the '
            "program that runs within an operator, such as __del__, a handler of a "
            f"signal or an operator of its own, waits for what {me!r} holds or is to "
            "do. Let that code wait for nothing, or use the GPU in one thread only"
        )


#: One for all runs: there is one at a time.
LOCK = RecordingLock()
