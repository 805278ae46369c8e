# SPDX-License-Identifier: BSD-3-Clause
"""lowering.py: steps of items as a program that the core's scheduler runs.

The same steps may be written in several views, which are what a run is compared with:
as if a CUDA graph held all it can hold, as if no host ever waited, as if collectives
were hidden. Lengths come from the item's key alone, so what two programs share takes as
long in both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulation.collectives import Collectives
from simulation.conditions import Conditions
from simulation.items import Item, Steps
from simulation.kernel_rows import KernelRows
from simulation.operator_classes import operator_class
from simulation.operator_rows import light_rows
from simulation.scopes import Scopes
from torchtraceap import _core
from torchtraceap.dryrun.estimate.kernel_time import copy_us
from torchtraceap.dryrun.record import Copy

_COPIES = {"h2d": "Memcpy HtoD ({} -> Device)", "d2h": "Memcpy DtoH (Device -> {})"}
_GRAPH_US = 0.12  # What a graph's node takes the host.
_BEFORE_LAUNCH = 0.7  # Of an operator's own time.


@dataclass(frozen=True)
class View:
    """How a program is written."""

    captured: bool = False
    no_waits: bool = False
    hidden: bool = False  #: Nothing waits for collectives.
    tensor_cores: bool = False
    fused: bool = False


PLAIN = View()


@dataclass
class Lowered:
    """A program, and which item each of its work belongs to."""

    program: _core.Program
    keys: dict[int, str] = field(default_factory=dict)  #: By place of the work.
    reductions: list[int] = field(default_factory=list)  #: Work of rank 0.


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
        self._of, self._steps, self._view = of, steps, view
        self._profile = of.profile
        self._conditions = of.conditions
        self.program = program = _core.Program()
        gpu = of.gpu
        major, minor = gpu.compute_capability
        more = (
            '"maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": '
            f"{gpu.threads_per_multiprocessor}, "
            '"regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32'
        )
        program.add_device(
            0, gpu.name, gpu.memory_bytes, gpu.multiprocessors, major, minor, more
        )
        self.stream = program.add_stream(7)
        program.resolution_ns = of.conditions.recording.resolution_ns
        self.out = Lowered(program)
        self._scopes = Scopes(program, of.conditions)
        self._collectives = Collectives(program, self._profile, arrivals, view.hidden)
        self._loader: int | None = None
        self._step, self._slow = 0, 1.0
        self._last: str = ""  # Class of the launch before, for chains.

    def write(self) -> Lowered:
        for number, step in enumerate(self._steps.steps):
            self._step = number
            self._slow = self._conditions.first_step if number == 0 else 1.0
            self._scopes.begin_step(number)
            self._collectives.begin_step(number)
            for item in step:
                key = f"{number}|{item.key}"
                getattr(self, f"_{item.kind}")(item, key, self._scopes.enter(item))
            self._collectives.end_step()
            self._scopes.end_step()
        self._scopes.end()
        self.program.device_sync(self._scopes.main, self.stream)
        self.out.reductions = self._collectives.own
        return self.out

    def _us(self, what: str, key: str) -> float:
        return self._profile.us(what, key) * self._slow

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
        self._host(thread, share * self._us(f"between {between}", key))
        args = item.args if self._conditions.recording.shapes else ""
        outer = item.outer[2:] if backward else item.outer
        if backward:
            own = share * self._us("own node", key)
            self._scopes.enter_node(item, round(own * 500))
        for depth, name in enumerate(outer):
            self.program.open(thread, name, args)
            self._host(thread, share * self._us("own outer", f"{key}{depth}") / 2)
            self._light(name, f"{key}{depth}", thread, share)
        self.program.open(thread, item.name, args)
        self._light(item.name, key, thread, share)
        many = len(item.launches) + (item.copy is not None)
        kind = operator_class(item.name) if many else "light"
        own = share * self._us(f"own {kind}", key) * max(many, 1)
        self._host(thread, own * _BEFORE_LAUNCH if many else own)
        if item.copy is not None and item.copy.direction != "d2h":
            self._copy(item.copy, key, thread, held)
        for place, (launch, us) in enumerate(item.launches):
            if place:
                self._host(thread, own * (1 - _BEFORE_LAUNCH) / many)
            self._launch(item, launch, us, f"{key}|{place}", thread, held)
        if item.copy is not None and item.copy.direction == "d2h":
            self._copy(item.copy, key, thread, held)
        if many:
            self._host(thread, own * (1 - _BEFORE_LAUNCH) / many)
        self.program.close(thread)
        for depth in range(len(outer)):
            self._host(thread, share * self._us("own outer", f"{key}{depth}") / 2)
            self.program.close(thread)

    def _light(self, name: str, key: str, thread: int, share: float) -> None:
        rows = light_rows(name)
        for row in rows:
            self.program.open(thread, row)
            self._host(thread, share * self._us("own light", f"{key}{row}") / len(rows))
        for _ in rows:
            self.program.close(thread)

    def _lengths(self, key: str, held: bool, call_us: float) -> dict[str, int]:
        # Work hardly starts before its launch has ended.
        latency = call_us + self._profile.steady_us("latency end", key)
        latency = 2.0 if held else latency
        gap = min(self._profile.steady_us("queued gap", key), 4.0)
        return {"latency": round(latency * 1000), "gap": round(gap * 1000)}

    def _launch(self, item, launch, us, key: str, thread: int, held: bool) -> None:
        us = self._device_us(item, launch, us, key)
        if not held:
            for name in self._profile.other_calls(key):
                other = self._us("call other", f"{key}{name}")
                self.program.call(thread, name, round(other * 1000))
        call = _GRAPH_US if held else self._us("call launch", key)
        times = round(us * 1000), round(call * 1000)
        lengths = self._lengths(key, held, call)
        if launch.work == "memset":
            place = self.program.memset(
                thread, self.stream, "Memset (Device)", *times, round(launch.nbytes),
                **lengths,
            )  # fmt: skip
        elif launch.work == "memcpy":
            place = self.program.copy(
                thread, self.stream, "Memcpy DtoD (Device -> Device)", *times,
                round(launch.nbytes / 2), **lengths,
            )  # fmt: skip
        else:
            row = self._of.rows.row(launch, item.name)
            place = self.program.kernel(
                thread, self.stream, row.name, *times, args=row.args,
                blocks_per_sm=row.blocks_per_sm, **lengths,
            )  # fmt: skip
        self.out.keys[place] = key

    def _device_us(self, item: Item, launch, us: float, key: str) -> float:
        profile = self._profile
        view = self._view
        if view.tensor_cores and launch.dtype == "float32":
            us = self._with_tensor_cores(launch, us)
        if view.fused and launch.work == self._last == "elementwise":
            us = min(us, 0.3)
        self._last = launch.work
        us *= self._conditions.device_speed
        us *= profile.factor("class", launch.work, 0.2)
        us *= profile.factor("kernel", item.key, 0.12)
        return max(0.9, us * profile.factor("noise", key, 0.03))

    def _with_tensor_cores(self, launch, us: float) -> float:
        peaks = self._of.gpu.flops
        if launch.work.split("_")[0] not in ("gemm", "bmm", "conv"):
            return us
        fast = max(peaks.get("tf32", 0.0), peaks.get("float16", 0.0) / 2)
        slow = peaks["float32"]
        compute = 1e6 * launch.flops / (slow * 0.85)
        return max(us - compute * (1 - slow / max(fast * 0.6, slow)), us * 0.2)

    def _copy(self, copy: Copy, key: str, thread: int, held: bool) -> None:
        profile = self._profile
        waits = copy.blocking and not self._view.no_waits
        memory = "Pinned" if copy.pinned or self._view.no_waits else "Pageable"
        if copy.direction == "d2d":
            name = "Memcpy DtoD (Device -> Device)"
        else:
            name = _COPIES[copy.direction].format(memory)
        us = copy_us(copy, self._of.gpu) * profile.factor("copy", key, 0.15)
        call = self._us("call launch", key + "c") * 1.3
        place = self.program.copy(
            thread, self.stream, name, round(us * 1000), round(call * 1000),
            copy.nbytes, **self._lengths(key + "c", held, call),
        )  # fmt: skip
        self.out.keys[place] = key + "|copy"
        if waits:
            self._sync("stream_sync", key, thread)

    def _sync(self, kind: str, key: str, thread: int) -> None:
        if self._view.no_waits:
            return
        times = {
            "ns": round(self._us("sync idle", key) * 1000),
            "back": round(min(self._profile.steady_us("sync back", key), 15.0) * 1000),
        }
        if kind == "event_sync":
            event = self.program.add_event()
            self.program.record_event(thread, self.stream, event, 1500)
            self.program.event_sync(thread, event, **times)
        elif kind == "device_sync":
            self.program.device_sync(thread, self.stream, **times)
        else:
            self.program.stream_sync(thread, self.stream, **times)

    def _wait(self, item: Item, key: str, thread: int) -> None:
        for row in item.rows:
            self._scopes.open_row(thread, row)
        self._sync(item.name, key, thread)
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
        self._host(thread, self._us("own outer", key) + 20)
        self.program.wait(thread, signal, 20_000)
        for _ in self._scopes.seen(item.rows):
            self.program.close(thread)

    def _reduce(self, item: Item, key: str, thread: int) -> None:
        self._host(thread, self._us("own collective", key))
        self._collectives.reduce(item, key, thread, self.stream)

    def _reduced(self, item: Item, key: str, thread: int) -> None:
        self._collectives.join(thread, self.stream)
