# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_garbage.py: twins that Python's garbage collector stops.

For the comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Iterator

from torch import Tensor

from benchmarks.lab.corpus.workloads.training import Lab, Training

OBJECTS = {"cuda": 20_000, "small": 40_000, "cpu": 5_000}
"""How many objects a step makes, by scale."""

KEPT = {"cuda": 200_000, "small": 100_000, "cpu": 50_000}
"""How many objects the program holds all the time: a full collection sees each."""


class Node:
    """An object that knows its parent."""

    __slots__ = ("children", "parent", "value")

    def __init__(self, value: int, parent: Node | None) -> None:
        self.value, self.parent = value, parent
        self.children: list[Node] = []


class HoldsObjects(Training):
    """Holds many objects, and does some bookkeeping after each step.

    The bookkeeping leaves ``result``, the same in both forms. Where nothing is left
    behind that only a collection could free, the collector may be switched off.
    """

    result: object = None
    collects = True

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.held = [[i] for i in range(KEPT[lab.scale])]
        self.objects = OBJECTS[lab.scale]
        self.history: deque[object] = deque(maxlen=4)

    @contextlib.contextmanager
    def settings(self) -> Iterator[None]:
        enabled = gc.isenabled()
        if not self.collects:
            gc.disable()
        try:
            with super().settings():
                yield
        finally:
            if enabled:
                gc.enable()

    def finish(self, losses: Tensor) -> Tensor:
        self.keep_books()
        return losses.detach()

    def keep_books(self) -> None:
        """Do nothing that would need a collection."""

    def close(self) -> None:
        self.held.clear()
        self.history.clear()


class CollectsEachStep(HoldsObjects):
    """Collects garbage after each step; its places are the steps."""

    def keep_books(self) -> None:
        if self.lab.takes(self.taken - 1):
            gc.collect()  # cause: collects_each_step


class LinksChain(HoldsObjects):
    """Links a chain of objects both ways, which only a collection can free.

    Its places are the objects.
    """

    def keep_books(self) -> None:
        first = node = Node(0, None)
        for i in range(1, self.lab.share(self.objects)):
            child = Node(i, node)  # cause: links_both_ways
            node.children.append(child)
            node = child
        total, at = 0, [first]
        while at:
            node = at.pop()
            total += node.value
            at += node.children
            self.leave(node)
        self.result = total

    def leave(self, node: Node) -> None:
        """Be done with an object."""


class UnlinksChain(LinksChain):
    """Takes the same links off again, so that nothing is left to collect."""

    collects = False

    def leave(self, node: Node) -> None:
        node.parent = None


class KeepsRecords(HoldsObjects):
    """Keeps a dict for each record of the last steps, which sets the collector off.

    Its places are the records.
    """

    def keep_books(self) -> None:
        records = []
        for i in range(self.lab.share(self.objects)):
            records.append({"at": i, "bin": [i % 64]})  # cause: records_in_dicts
        self.history.append(records)
        self.result = sum(record["at"] for record in records)


class KeepsUncollected(KeepsRecords):
    """Keeps the same with the collector off: nothing of it is a cycle."""

    collects = False
