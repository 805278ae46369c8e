# SPDX-License-Identifier: BSD-3-Clause
"""scopes.py: the threads of a run, and what is open on them."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lab import _lab
from benchmarks.lab.corpus.simulation.conditions import Conditions
from benchmarks.lab.corpus.simulation.items import Item
from torchtraceap import _core

_BACKWARD_FRAMES = (
    "torch/_tensor.py(570): backward",
    "torch/autograd/__init__.py(245): backward",
    "torch/autograd/graph.py(815): _engine_run_backward",
)


class Scopes:
    """Threads and scopes of a program.

    Attributes:
        main: The thread that runs Python.
        between: Which pauses between operators this recording has, see ranges.py.
    """

    def __init__(self, program: _core.Program, conditions: Conditions) -> None:
        self._program = program
        self._recording = conditions.recording
        pid = conditions.pid
        self.main = program.add_thread(pid, f"{pid} (python3)")
        self._backward_tid = pid + 27
        self._backward: int | None = None
        self._in_backward = False
        self._node: tuple[object, ...] = ()
        self._open: list[str] = []
        self.between = "frames" if self._recording.stacks else "plain"
        self._frames_open = False

    def begin_step(self, number: int) -> None:
        step, first = divmod(number, self._recording.each)
        if self._recording.steps and not first:
            self._program.open_span(self.main, f"ProfilerStep#{step + 3}")

    def end_step(self, number: int, last: bool) -> None:
        self._leave_backward()
        self._want([])
        if self._recording.steps and (last or not (number + 1) % self._recording.each):
            self._program.close(self.main)

    def end(self) -> None:
        """Close all that is open."""
        self._want([])

    def enter(self, item: Item) -> int:
        """Open what is around an item; return the thread that it runs on."""
        if item.phase == "backward":
            if not self._in_backward:
                self._enter_backward(item)
            assert self._backward is not None
            return self._backward
        self._leave_backward()
        wanted = []
        if self._recording.stacks:
            wanted = [f"#{frame}" for frame in (*item.frames, *item.modules)]
        if item.phase == "optimizer":
            wanted.insert(min(2, len(wanted)), "@Optimizer.step#AdamW.step")
        self._want(wanted)
        return self.main

    def leave_node(self, item: Item) -> None:
        """Close the node that is open, unless the operator is in it, too."""
        if (*item.outer[:2], item.sequence) != self._node:
            self._leave_node()

    def enter_node(self, item: Item, own_ns: int) -> None:
        """Open the node of autograd that an operator of the backward pass is in."""
        assert self._backward is not None
        node = (*item.outer[:2], item.sequence)
        if node == self._node:
            return
        self._node = node
        args = (
            f'"Sequence number": {item.sequence}, "Fwd thread id": 1'
            if item.sequence >= 0
            else ""
        )
        for name in item.outer[:2]:
            self._program.open(self._backward, name, args)
            if own_ns:
                self._program.host(self._backward, own_ns)

    def open_row(self, thread: int, row: str) -> None:
        """Open one row: "@" an annotation, "#" a function, all else an operator."""
        if row.startswith("@"):
            self._program.open_span(thread, row[1:])
        elif row.startswith("#"):
            if self._recording.stacks:
                _lab.open_frame(self._program, thread, row[1:])
        else:
            self._program.open(thread, row)

    def seen(self, rows: Sequence[str]) -> list[str]:
        """Return the rows of some that are recorded at all."""
        stacks = self._recording.stacks
        return [row for row in rows if stacks or not row.startswith("#")]

    def _enter_backward(self, item: Item) -> None:
        if self._backward is None:
            tid = self._backward_tid
            self._backward = self._program.add_thread(tid, f"{tid} (pt_autograd_0)")
        frames = [f"#{frame}" for frame in _BACKWARD_FRAMES]
        before = [row for row in self._open if row.startswith("#train")]
        self._want([*before, *frames] if self._recording.stacks else [])
        self._in_backward = True
        self._hand_over(self.main, self._backward)

    def _leave_backward(self) -> None:
        if not self._in_backward:
            return
        assert self._backward is not None
        self._leave_node()
        self._in_backward = False
        self._hand_over(self._backward, self.main)

    def _leave_node(self) -> None:
        for _ in self._node[:-1]:
            self._program.close(self._backward)
        self._node = ()

    def _hand_over(self, giver: int, taker: int) -> None:
        signal = self._program.add_signal()
        self._program.signal(giver, signal)
        self._program.wait(taker, signal, 8000)

    def _want(self, wanted: list[str]) -> None:
        same = 0
        while self._open[same : same + 1] == wanted[same : same + 1] != []:
            same += 1
        for _ in self._open[same:]:
            self._program.close(self.main)
        for row in wanted[same:]:
            self.open_row(self.main, row)
        self._open = wanted
