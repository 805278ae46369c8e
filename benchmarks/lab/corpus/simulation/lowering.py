# SPDX-License-Identifier: BSD-3-Clause
"""lowering.py: steps of items as a program that the core's scheduler runs.

The same steps may be written in several views, with which a run is compared:
as if a CUDA graph held all it can hold, as if no host ever waited, as if collectives
were hidden, and what else `View` names. Lengths come from the item's key alone, so
what two programs share takes as long in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.lab import _lab
from benchmarks.lab.corpus.simulation.collectives import Collectives
from benchmarks.lab.corpus.simulation.conditions import Conditions
from benchmarks.lab.corpus.simulation.items import Item, Steps
from benchmarks.lab.corpus.simulation.kernel_rows import KernelRows
from benchmarks.lab.corpus.simulation.launching import PLAIN, Launching, Lowered, View
from benchmarks.lab.corpus.simulation.operator_rows import light_rows, operator_class
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

    @contextmanager
    def rows(self, thread: int, rows: Sequence[str]) -> Iterator[None]:
        """Open rows, those that are recorded at all; close them at the end."""
        for row in rows:
            self.open_row(thread, row)
        yield
        for row in rows:
            if self._recording.stacks or not row.startswith("#"):
                self._program.close(thread)

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


_BEFORE_LAUNCH = 0.7  # Of an operator's own time.
_BEFORE_INNER = 0.3  # Of that of one that calls others, before it calls the first.


class Lowering:
    """Writes the programs of one run."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.profile = conditions.profile()
        self.gpu = conditions.device
        self.rows = KernelRows(self.gpu, conditions.seed)

    def lower(
        self,
        steps: Steps,
        view: View = PLAIN,
        arrivals: list[dict[str, float]] | None = None,
    ) -> Lowered:
        """Write steps as a program.

        Args:
            arrivals: When the other rank comes to each collective of each step, in µs
                from the step's begin; None: there is no other rank.
        """
        return _Writer(self, steps, view, arrivals).write()


class _Writer:
    def __init__(
        self,
        of: Lowering,
        steps: Steps,
        view: View,
        arrivals: list[dict[str, float]] | None,
    ) -> None:
        self._steps, self._view = steps, view
        self._profile = of.profile
        self._conditions = of.conditions
        self._device = Launching(of.conditions, of.profile, of.rows, view)
        self.program = program = self._device.program
        self.stream = self._device.stream
        self.out = self._device.out
        self._scopes = Scopes(program, of.conditions)
        self._collectives = Collectives(program, self._profile, arrivals, view.hidden)
        self._loader: int | None = None
        self._step = 0

    def write(self) -> Lowered:
        for number, step in enumerate(self._steps.steps):
            self._step = number
            self._device.slow = self._conditions.first_step if number == 0 else 1.0
            self._scopes.begin_step(number)
            self._collectives.begin_step(number)
            for item in step:
                key = f"{number}|{item.key}"
                getattr(self, f"_{item.kind}")(item, key, self._scopes.enter(item))
            self._collectives.end_step()
            self._scopes.end_step(number, number == len(self._steps.steps) - 1)
        self._scopes.end()
        self.program.device_sync(self._scopes.main, self.stream)
        self.out.reductions = self._collectives.own
        return self.out

    def _host(self, thread: int, us: float) -> None:
        if us >= 0.001:
            self.program.host(thread, round(us * 1000))

    def _op(self, item: Item, key: str, thread: int) -> None:
        held = self._view.captured and item.captured
        share = 0.0 if held else item.host
        backward = item.phase == "backward"
        between = "backward" if backward else self._scopes.between
        if backward:
            self._scopes.leave_node(item)
        self._host(thread, share * self._device.us(f"between {between}", key))
        args = item.args if self._conditions.recording.shapes else ""
        outer = item.outer[2:] if backward else item.outer
        if backward:
            own = share * self._device.us("own node", key)
            self._scopes.enter_node(item, round(own * 500))
        for depth, name in enumerate(outer):
            self.program.open(thread, name, args)
            self._host(
                thread,
                share
                * self._device.us("own outer", f"{key}{depth}", name)
                * _BEFORE_INNER,
            )
            self._light(name, f"{key}{depth}", thread, share)
        self.program.open(thread, item.name, args)
        self._light(item.name, key, thread, share)
        many = len(item.launches) + (item.copy is not None)
        kind = operator_class(item.name) if many else "light"
        own = share * self._device.us(f"own {kind}", key, item.name) * max(many, 1)
        self._host(thread, own * _BEFORE_LAUNCH if many else own)
        if item.copy is not None and item.copy.direction != "d2h":
            self._device.copy(item.copy, key, thread, held)
        for place, (launch, us) in enumerate(item.launches):
            if place:
                self._host(thread, own * (1 - _BEFORE_LAUNCH) / many)
            self._device.launch(item, launch, us, f"{key}|{place}", thread, held)
        if item.copy is not None and item.copy.direction == "d2h":
            self._device.copy(item.copy, key, thread, held)
        if many:
            self._host(thread, own * (1 - _BEFORE_LAUNCH) / many)
        self.program.close(thread)
        for depth, name in reversed(list(enumerate(outer))):
            self._host(
                thread,
                share
                * self._device.us("own outer", f"{key}{depth}", name)
                * (1 - _BEFORE_INNER),
            )
            self.program.close(thread)

    def _light(self, name: str, key: str, thread: int, share: float) -> None:
        rows = light_rows(name)
        times = [
            share * self._device.us("own light", f"{key}{row}", row) for row in rows
        ]
        for row, us in zip(rows, times, strict=True):
            self.program.open(thread, row)
            self._host(thread, us / len(rows) * _BEFORE_INNER)
        for us in reversed(times):
            self._host(thread, us / len(rows) * (1 - _BEFORE_INNER))
            self.program.close(thread)

    def _wait(self, item: Item, key: str, thread: int) -> None:
        with self._scopes.rows(thread, item.rows):
            self._device.sync(item.name, key, thread)

    def _pause(self, item: Item, key: str, thread: int) -> None:
        with self._scopes.rows(thread, item.rows):
            self._host(thread, item.us * self._profile.factor("pause", key, 0.05))

    def _call(self, item: Item, key: str, thread: int) -> None:
        with self._scopes.rows(thread, item.rows):
            for place, call in enumerate(item.calls):
                us = call.us * self._profile.factor("call", f"{key}{place}", 0.3)
                if call.drains and not self._view.no_waits:
                    self.program.device_sync(
                        thread, self.stream, name=call.name, ns=round(us * 1000)
                    )
                else:
                    self.program.call(thread, call.name, round(us * 1000))

    def _join(self, item: Item, key: str, thread: int) -> None:
        if self._loader is None:
            self._loader = self.program.add_thread(
                self._conditions.pid + 40, f"{self._conditions.pid + 40} (pt_data_pin)"
            )
        signal = self.program.add_signal()
        # The first batch was ready before the recording began.
        us = item.us * self._profile.factor("pause", key, 0.1) * (self._step > 0)
        self.program.host(self._loader, round(us * 1000))
        self.program.signal(self._loader, signal)
        with self._scopes.rows(thread, item.rows):
            self._host(thread, self._device.us("own outer", key) + 20)
            self.program.wait(thread, signal, 20_000)

    def _reduce(self, item: Item, key: str, thread: int) -> None:
        self._host(thread, self._device.us("own collective", key))
        self._collectives.reduce(item, key, thread, self.stream)

    def _reduced(self, item: Item, key: str, thread: int) -> None:
        self._collectives.join(thread, self.stream)
