# SPDX-License-Identifier: BSD-3-Clause
"""lowering.py: steps of items as a program that the core's scheduler runs.

The same steps may be written in several views, which are what a run is compared with:
as if a CUDA graph held all it can hold, as if no host ever waited, as if collectives
were hidden, and what else views.py names. Lengths come from the item's key alone, so
what two programs share takes as long in both.
"""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.collectives import Collectives
from benchmarks.lab.corpus.simulation.conditions import Conditions
from benchmarks.lab.corpus.simulation.items import Item, Steps
from benchmarks.lab.corpus.simulation.kernel_rows import KernelRows
from benchmarks.lab.corpus.simulation.launching import Launching
from benchmarks.lab.corpus.simulation.operator_classes import operator_class
from benchmarks.lab.corpus.simulation.operator_rows import light_rows
from benchmarks.lab.corpus.simulation.scopes import Scopes
from benchmarks.lab.corpus.simulation.views import PLAIN, Lowered, View

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
        for row in item.rows:
            self._scopes.open_row(thread, row)
        self._device.sync(item.name, key, thread)
        for _ in self._scopes.seen(item.rows):
            self.program.close(thread)

    def _pause(self, item: Item, key: str, thread: int) -> None:
        for row in item.rows:
            self._scopes.open_row(thread, row)
        self._host(thread, item.us * self._profile.factor("pause", key, 0.05))
        for _ in self._scopes.seen(item.rows):
            self.program.close(thread)

    def _call(self, item: Item, key: str, thread: int) -> None:
        for row in item.rows:
            self._scopes.open_row(thread, row)
        for place, call in enumerate(item.calls):
            us = call.us * self._profile.factor("call", f"{key}{place}", 0.3)
            if call.drains and not self._view.no_waits:
                self.program.device_sync(
                    thread, self.stream, name=call.name, ns=round(us * 1000)
                )
            else:
                self.program.call(thread, call.name, round(us * 1000))
        for _ in self._scopes.seen(item.rows):
            self.program.close(thread)

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
        for row in item.rows:
            self._scopes.open_row(thread, row)
        self._host(thread, self._device.us("own outer", key) + 20)
        self.program.wait(thread, signal, 20_000)
        for _ in self._scopes.seen(item.rows):
            self.program.close(thread)

    def _reduce(self, item: Item, key: str, thread: int) -> None:
        self._host(thread, self._device.us("own collective", key))
        self._collectives.reduce(item, key, thread, self.stream)

    def _reduced(self, item: Item, key: str, thread: int) -> None:
        self._collectives.join(thread, self.stream)
