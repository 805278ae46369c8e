# SPDX-License-Identifier: BSD-3-Clause
"""local_pool.py: the tasks of a fleet in child processes of this machine.

A child that crashes, or that the system kills for memory, costs its task alone, which
is tried once more when nothing else runs.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence

from torchtraceap.base.children import (
    Child,
    ChildEnded,
    serve,
    threads_for_children,
)
from torchtraceap.base.errors import ConfigError
from torchtraceap.fleets.items import Item
from torchtraceap.fleets.tasks import Done, FleetPlan, failed_task, run_task

#: The failure of a task whose process ended each time.
CRASHED = (
    "the process that analyzed it ended each time that it was tried. Analyze this file "
    "alone; if memory ran out, load fewer categories or steps"
)

#: Why tasks at the beginning end a run.
ALL_CRASHED = "their processes crashed"
#: The least tasks that crash, before any other ends, for a cause of the machine.
HOPELESS = 8
_PATIENCE_S = 1.0  # Until an answer counts as none.


def none_ran(count: int, why: str) -> ConfigError:
    """Return the error that ends a run of whose first tasks none comes to its end."""
    return ConfigError(
        f"none of the first {count} traces and jobs could be analyzed: {why}. Analyze "
        "one of them alone to see the cause; if memory ran out, use fewer workers. The "
        "next call goes on with others."
    )


def run_local(
    items: Sequence[Item], plan: FleetPlan, workers: int, memory: int
) -> Iterator[Done | None]:
    """Yield the rows of each item, in the order in which they are done; None where
    nothing came for a second.

    As many run at a time as there are workers, and as fit into ``memory`` bytes by
    their estimates; an item that does not fit at all runs alone. Raises ConfigError
    after the rows of the first tasks if all of these crash.
    """
    waiting = _Waiting(items, memory, max(HOPELESS, 2 * workers))
    answers: queue.Queue[Done | BaseException | None] = queue.Queue(2 * workers)
    children: set[Child] = set()
    over = threading.Event()

    def dropped(child: Child) -> None:
        child.close()  # Its pipes, too.
        children.discard(child)

    def work() -> None:
        child: Child | None = None
        while (item := waiting.take()) is not None:
            if child is not None and child.has_ended:  # While it was idle.
                dropped(child)
                child = None
            if child is None:
                child = Child(__name__, plan)
                children.add(child)
            if over.is_set():  # Those that the list had then are killed.
                child.kill()
            try:
                done = child.ask(item)
            except ChildEnded:
                dropped(child)
                child = None
                if not waiting.again(item):
                    answers.put(failed_task(item, "crashed", CRASHED))
                elif hopeless := waiting.hopeless():
                    for one in hopeless:
                        answers.put(failed_task(one, "crashed", CRASHED))
                    raise none_ran(len(hopeless), ALL_CRASHED) from None
                continue
            waiting.done(item)
            waiting.hope()
            answers.put(done)

    def until_done() -> None:
        try:
            work()
            answers.put(None)
        except BaseException as error:
            answers.put(error)

    pool, running = threads_for_children(workers, "fleet"), workers
    try:
        for _ in range(workers):
            pool.submit(until_done)
        while running:
            try:
                answer = answers.get(timeout=_PATIENCE_S)
            except queue.Empty:
                yield None
                continue
            if isinstance(answer, Done):
                yield answer
                continue
            running -= 1
            if answer is not None:
                raise answer
    finally:
        over.set()
        waiting.stop()
        for child in tuple(children):  # Threads may still take one out.
            child.kill()
        while running:  # A thread may wait for room for its answer.
            running -= not isinstance(answers.get(), Done)
        pool.shutdown(cancel_futures=True)
        for child in children:
            child.close()


class _Waiting:
    """The items that are still to be done, and the memory that is taken."""

    def __init__(self, items: Sequence[Item], memory: int, hopeless: int = 0) -> None:
        self._items = {item.id: item for item in items}
        self._memory = memory
        self._used = 0
        self._running = 0
        self._hopeless = hopeless  # Crashes at the beginning; 0 if a task was done.
        self._tried: set[str] = set()  # Those that ended once.
        self._is_over = False
        self._changed = threading.Condition()

    def take(self) -> Item | None:
        """Return the first item that fits, once one does; None when all are done."""
        with self._changed:
            while not self._is_over and (self._items or self._running):
                if item := next(filter(self._fits, self._items.values()), None):
                    del self._items[item.id]
                    self._used += self._need(item)
                    self._running += 1
                    return item
                self._changed.wait()
            return None

    def _fits(self, item: Item) -> bool:
        return not self._running or self._used + self._need(item) <= self._memory

    def _need(self, item: Item) -> int:
        # One that ended runs alone: it may have been killed for the memory of others.
        return self._memory if item.id in self._tried else item.needed_bytes

    def done(self, item: Item) -> None:
        """Give back what an item took."""
        with self._changed:
            self._used -= self._need(item)
            self._running -= 1
            self._changed.notify_all()

    def hope(self) -> None:
        """Know that a task was done."""
        self._hopeless = 0

    def hopeless(self) -> list[Item]:
        """Return the items whose processes ended if that is how it began, and have
        nothing more taken."""
        with self._changed:
            if not 0 < self._hopeless <= len(self._tried) or self._is_over:
                return []
            self.stop()
            return [item for item in self._items.values() if item.id in self._tried]

    def again(self, item: Item) -> bool:
        """Take an item back whose process ended; False if it was the second time."""
        with self._changed:
            self.done(item)
            if item.id in self._tried:
                return False
            self._tried.add(item.id)
            self._items[item.id] = item
            return True

    def stop(self) -> None:
        """Have nothing more taken."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


def main(parent: int) -> None:
    """Be a child of `run_local`."""

    def set_up(plan: FleetPlan) -> Callable[[Item], Done]:
        return lambda item: run_task(item, plan)

    serve(parent, set_up)
