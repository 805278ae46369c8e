# SPDX-License-Identifier: BSD-3-Clause
"""program_threads.py: waits for the threads that a program leaves at its end, as Python
does.

Some of them do their work when the main thread has ended, such as one that saves. Here
that is only the end of the program, and what they then do is still of the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures.process import _threads_wakeups
from concurrent.futures.thread import _threads_queues
from typing import Any

from torchtraceap.dryrun.facade.replacing import Replacements


class ProgramThreads:
    """Threads of the program that the block is: to them the main thread ends with it.

    In another thread than the main one, that stays as it is.
    """

    def __init__(self) -> None:
        self._older = {*threading.enumerate()}
        self._main = threading.main_thread()
        self._over = threading.Event()
        self._replaced = Replacements()
        self._work: set[Future[Any]] = set()  # What pools have still to do.

    def __enter__(self) -> ProgramThreads:
        if threading.current_thread() is self._main:
            self._replaced.set(self._main, "join", self._join)
            self._replaced.set(self._main, "is_alive", self._is_alive)
            of_pool = ThreadPoolExecutor.submit

            def submit(
                pool: ThreadPoolExecutor,
                work: Callable[..., Any],
                /,
                *args: Any,
                **kwargs: Any,
            ) -> Future[Any]:
                future = of_pool(pool, work, *args, **kwargs)
                self._work.add(future)
                future.add_done_callback(self._work.discard)
                return future

            self._replaced.set(ThreadPoolExecutor, "submit", submit)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._replaced.undo()

    def wait(self) -> None:
        """Wait for them at the program's end; of those of pools, which Python tells to
        end, for what they have still to do."""
        self._over.set()
        while True:
            if self._work:
                wait(list(self._work))
            elif left := self._left():
                left[0].join()
            else:
                return

    def _left(self) -> list[threading.Thread]:
        done = {*self._older, *_threads_queues, *_threads_wakeups}
        return [t for t in threading.enumerate() if not t.daemon and t not in done]

    def _join(self, timeout: float | None = None) -> None:
        if threading.current_thread() in self._older:
            threading.Thread.join(self._main, timeout)
        else:
            self._over.wait(timeout)

    def _is_alive(self) -> bool:
        return threading.current_thread() in self._older or not self._over.is_set()
