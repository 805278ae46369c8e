# SPDX-License-Identifier: BSD-3-Clause
"""pool.py: child processes that do tasks, and a queue before them that ends.

A seat is taken before a body is read, so that the disk and the memory that requests
take together are bounded, too. It is left before the answer is sent: of what clients
have not read yet, only the number of connections is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from torchtraceap.base.children import Child, ChildEnded, threads_for_children

if TYPE_CHECKING:
    from torchtraceap.service.tasks import FleetTask, Reply, TraceTask

_log = logging.getLogger("torchtraceap.service")
_TASKS = "torchtraceap.service.tasks"
# A child that took more is not used again: what an allocator keeps would add up.
_KEPT_BYTES = 512 << 20


class Full(Exception):
    """Every seat is taken."""


class Overtime(Exception):
    """A task took longer than it may; its child is gone."""


class Unstarted(Exception):
    """The system starts no further process."""


class Pool:
    """Does at most ``workers`` tasks at a time, of at most ``workers + queue``."""

    def __init__(self, workers: int, queue: int, seconds: float, memory: int) -> None:
        """Nothing is started yet; ``seconds`` is the most of a task, without what it
        waits, and ``memory`` the most bytes of address space of a child."""
        self.workers = workers
        self.peak_bytes = 0  #: Of the largest child so far.
        self.ended = {"crashed": 0, "time": 0, "canceled": 0}  #: Children, by why.
        self._left = workers + queue
        self._seats = workers + queue
        self._running = 0
        self._seconds, self._memory = seconds, memory
        self._turn = asyncio.Semaphore(workers)
        self._idle: list[Child] = []
        self._working: set[_Work] = set()
        self._threads = threads_for_children(workers, "child")

    @property
    def running(self) -> int:
        """How many tasks are being done."""
        return self._running

    @property
    def waiting(self) -> int:
        """How many seats are taken by what is not being done: uploads and the queue."""
        return self._seats - self._left - self._running

    @contextmanager
    def seat(self) -> Iterator[None]:
        """Take a seat for the block. Raises Full."""
        if not self._left:
            raise Full
        self._left -= 1
        try:
            yield
        finally:
            self._left += 1

    async def ask(self, task: TraceTask | FleetTask) -> Reply:
        """Do a task, once it is its turn, for which a seat must have been taken.

        Raises Overtime; ChildEnded if the child crashed; Unstarted. If this is
        canceled, the child ends.
        """
        async with self._turn:
            self._running += 1
            try:
                return await self._asked(task)
            finally:
                self._running -= 1

    async def _asked(self, task: TraceTask | FleetTask) -> Reply:
        work = _Work(self._idle.pop() if self._idle else None, self._memory)
        loop = asyncio.get_running_loop()
        self._working.add(work)
        answer = loop.run_in_executor(self._threads, work.run, task)
        why = "canceled"
        try:
            await asyncio.wait({answer}, timeout=self._seconds)
            if not answer.done():
                why = "time"
                raise Overtime
        finally:
            if not answer.done():
                self.ended[why] += 1
                work.kill()
                with suppress(ChildEnded, Unstarted):
                    await answer
            self._working.discard(work)
        try:
            reply = answer.result()
        except ChildEnded as ended:
            self.ended["crashed"] += 1
            _log.warning("a child ended with the code %d during a task", ended.code)
            raise
        self.peak_bytes = max(self.peak_bytes, reply.peak_bytes)
        assert work.child is not None  # It answered.
        if reply.peak_bytes > _KEPT_BYTES:
            work.child.close()
        else:
            self._idle.append(work.child)
        return reply

    def close(self) -> None:
        """End the children, also those that work."""
        for work in self._working:
            work.kill()
        for child in self._idle:
            child.close()
        self._idle.clear()
        self._threads.shutdown()


class _Work:
    """A task in a thread, which `kill` reaches at any time."""

    def __init__(self, child: Child | None, memory: int) -> None:
        self.child, self._memory = child, memory
        self._is_killed = False
        self._lock = threading.Lock()

    def run(self, task: TraceTask | FleetTask) -> Reply:
        with self._lock:
            if self.child is not None and self.child.has_ended:  # While it was idle.
                self.child.close()
                self.child = None
            if self.child is None:
                try:
                    self.child = Child(_TASKS, self._memory)
                except OSError as error:
                    _log.warning("a child cannot be started: %s", error)
                    raise Unstarted from error
            if self._is_killed:
                self.child.kill()
        try:
            reply: Reply = self.child.ask(task)
            return reply
        finally:
            if self._is_killed or self.child.has_ended:
                self.child.close()

    def kill(self) -> None:
        with self._lock:
            self._is_killed = True
            if self.child is not None:
                self.child.kill()
