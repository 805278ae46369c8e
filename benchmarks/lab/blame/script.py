# SPDX-License-Identifier: BSD-3-Clause
"""script.py: writes a program's requests to its devices: launches, copies, waits.

Each part of the program draws from its own seed. So the parts that two programs share
are equal in both, whatever else is in one of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.lab.blame.gpus import Gpu
from benchmarks.lab.blame.instructions import (
    Await,
    Call,
    Close,
    Host,
    Instruction,
    Key,
    Mark,
    Open,
    Signal,
    Stream,
    Take,
    Work,
)
from benchmarks.lab.blame.pieces import Kernel, Op, Piece

MAIN, AUTOGRAD = 4100, 4177
_STACK = 1.35  # Recording frames slows Python down.
_ENTER_US = 0.3  # Between the begins of two frames.


class Draft:
    """A program that is being written."""

    def __init__(self, gpu: Gpu, seed: int, causes: dict[str, float], stack: bool):
        self.gpu = gpu
        self.seed = seed
        self.causes = causes
        self.stack = stack
        self.code: dict[int, list[Instruction]] = {MAIN: []}
        self.thread = MAIN
        self.path = ""
        self.rng = random.Random(seed)
        self.works = 0
        self.modules = 0
        self.step = ""  #: The path of the step that is being written.
        self.slow = _STACK if stack else 1.0

    def has(self, cause: str) -> float:
        """Return a fault's strength, 0 without it."""
        return self.causes.get(cause, 0.0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """A part of the program with draws of its own; "/name" is in no other part, so
        that it may be written elsewhere in another program."""
        before = self.path, self.rng, self.works
        self.path = name if name.startswith("/") else f"{self.path}/{name}"
        self.rng, self.works = random.Random(f"{self.seed}{self.path}"), 0
        yield
        self.path, self.rng, self.works = before

    @contextmanager
    def on_thread(self, tid: int) -> Iterator[None]:
        """What is written meanwhile is another thread's."""
        before, self.thread = self.thread, tid
        self.code.setdefault(tid, [])
        yield
        self.thread = before

    def put(self, it: Instruction) -> None:
        """Add an instruction."""
        self.code[self.thread].append(it)

    def key(self) -> Key:
        """Name the next work of this part."""
        self.works += 1
        return self.path, self.works

    def drawn(self, us: float, spread: float = 0.15) -> float:
        """Draw a length around `us`."""
        return us * self.rng.lognormvariate(0, spread)

    def host(self, us: float) -> None:
        """Let host time pass."""
        self.put(Host(self.drawn(us)))

    @contextmanager
    def within(self, category: str, name: str, **args: Any) -> Iterator[None]:
        """A range around what is written meanwhile."""
        self.put(Open(category, name, args))
        yield
        self.put(Close())

    def range(self, name: str) -> Any:
        """An annotation."""
        return self.within("user_annotation", name)

    @contextmanager
    def frame(self, name: str) -> Iterator[None]:
        """A Python frame, in recordings that have them."""
        if not self.stack:
            yield
            return
        with self.within("python_function", name):
            self.put(Host(_ENTER_US))
            yield
            self.put(Host(_ENTER_US))

    @contextmanager
    def uncaptured(self) -> Iterator[None]:
        """What no captured graph can hold."""
        self.put(Mark(True))
        yield
        self.put(Mark(False))

    @contextmanager
    def op(self, *names: str, **args: Any) -> Iterator[None]:
        """Nested operators around what is written meanwhile."""
        cost = self.gpu.dispatch * self.slow
        for name in names:
            self.put(Open("cpu_op", name, args))
            self.host(cost * 0.6 / len(names))
        yield
        for _ in names:
            self.host(cost * 0.25 / len(names))
            self.put(Close())
        self.host(cost * 0.15)

    def signal(self, token: str) -> None:
        """Let another thread go on."""
        self.put(Signal(token))

    def wait_for(self, token: str, us: float = 25.0) -> None:
        """Wait for another thread."""
        self.put(Await(token, self.drawn(us, 0.3)))

    def take(self, number: int, us: float) -> None:
        """Take a batch from the loader's workers."""
        self.put(Take(number, self.drawn(us)))


COMPUTE: Stream = (0, 7)
PAGEABLE, PINNED = "Pageable", "Pinned"
#: Up to here the driver keeps a copy of pageable memory and does not wait.
STAGED = 65536


class Script(Draft):
    """A program that is being written."""

    def run(self, ops: Sequence[Op], stream: Stream = COMPUTE) -> None:
        """Operators with their kernels."""
        for names, kernels in ops:
            with self.op(*names):
                for kernel in kernels:
                    self.launch(kernel, stream)

    def work(self, kernel: Kernel, stream: Stream, us: float | None = None) -> Work:
        """A kernel as work of a stream."""
        gpu = self.gpu
        fixed = kernel.us(gpu, self.rng)
        args = {
            "grid": [kernel.blocks, 1, 1],
            "block": [kernel.threads, 1, 1],
            "registers per thread": kernel.registers,
            "shared memory": kernel.shared,
            "est. achieved occupancy %": kernel.occupancy(gpu),
        }
        return self._work("kernel", kernel.name, us or fixed, stream, args)

    def _work(
        self, kind: str, name: str, us: float, stream: Stream, args: dict[str, Any]
    ) -> Work:
        gap = self.drawn(self.gpu.gap, 0.2) if self.gpu.gap else 0.0
        latency = self.drawn(self.gpu.latency, 0.08)
        return Work(kind, name, us, stream, self.key(), latency, gap, args)

    def launch(
        self, kernel: Kernel, stream: Stream = COMPUTE, us: float | None = None
    ) -> None:
        """Launch a kernel."""
        work = self.work(kernel, stream, us)
        cost = min(self.drawn(self.gpu.launch), work.latency - 0.3)
        name = "hipLaunchKernel" if self.gpu.amd else "cudaLaunchKernel"
        self.put(Call(name, cost, (work,)))

    def piece(self, piece: Piece) -> None:
        """Call a module."""
        self.modules += 1
        if not piece.module:
            self.run(piece.ops)
            return
        with (
            self.frame(f"nn.Module: {piece.module}_{self.modules}"),
            self.frame("torch/nn/modules/module.py(1518): _call_impl"),
        ):
            self.host(self.gpu.dispatch * 0.3)
            self.run(piece.ops)

    def memset(self, numel: float) -> None:
        """Set memory to zero."""
        us = 1.4 + numel * 4 / (self.gpu.bandwidth * 700)
        work = self._work(
            "gpu_memset", "Memset (Device)", self.drawn(us, 0.05), COMPUTE,
            {"bytes": int(numel * 4)},
        )  # fmt: skip
        name = "hipMemsetAsync" if self.gpu.amd else "cudaMemsetAsync"
        self.put(Call(name, self.drawn(self.gpu.launch * 0.9), (work,)))

    def copy(
        self, way: str, size: float, memory: str, stream: Stream = COMPUTE
    ) -> None:
        """A copy between host and device as the runtime makes it, without the wait
        that torch adds: see `blocking_copy`."""
        gpu = self.gpu
        rate = gpu.pinned if memory == PINNED else gpu.pageable
        us = self.drawn(1.6 + size / (rate * 1000), 0.04)
        shown = "Host" if gpu.amd else memory
        ends = ("Device", shown) if way == "DtoH" else (shown, "Device")
        name = f"Memcpy {way} ({ends[0]} -> {ends[1]})"
        work = self._work("gpu_memcpy", name, us, stream, {"bytes": int(size)})
        call = Call("cudaMemcpyAsync", self.drawn(gpu.launch * 1.8), (work,))
        work.latency = max(work.latency, call.us + 0.5)
        held = way == "DtoH" or size > STAGED
        if memory == PAGEABLE and (held or gpu.amd):
            call.waits, call.wakes = "work", self.drawn(8, 0.2)
        if gpu.amd:
            held = memory == PAGEABLE
            call.name = "hipMemcpyWithStream" if held else "hipMemcpyAsync"
        self.put(call)

    def copy_inside(self, size: float) -> None:
        """A copy inside the device."""
        us = self.drawn(1.6 + 2 * size / (self.gpu.bandwidth * 800), 0.04)
        name = "Memcpy DtoD (Device -> Device)"
        work = self._work("gpu_memcpy", name, us, COMPUTE, {"bytes": int(size)})
        call = "hipMemcpyAsync" if self.gpu.amd else "cudaMemcpyAsync"
        self.put(Call(call, min(self.drawn(self.gpu.launch), work.latency), (work,)))

    def blocking_copy(self, way: str, size: float, memory: str = PAGEABLE) -> None:
        """What `tensor.to(device)` calls: the copy, and a wait for its stream."""
        with self.uncaptured():
            self.copy(way, size, memory)
            if not self.gpu.amd:
                self.wait("cudaStreamSynchronize", COMPUTE)

    def wait(self, name: str, target: Any) -> None:
        """A call that waits: for a stream, ("device", 0), or ("event", id)."""
        if self.gpu.amd:
            name = name.replace("cuda", "hip")
        wakes = self.drawn(7, 0.25)
        self.put(Call(name, self.drawn(3.0), waits=target, wakes=wakes))

    def memory_call(self, name: str, us: float) -> None:
        """Take memory from the driver, or give it back: that waits for the device."""
        free = name == "cudaFree"
        name = name.replace("cuda", "hip") if self.gpu.amd else name
        cost = self.drawn(us, 0.3)
        if free:
            self.put(Call(name, 2.0, waits=("device", 0), after=cost))
        else:
            self.put(Call(name, cost))

    def event(self, event: str, stream: Stream) -> None:
        """Record an event on a stream."""
        name = "hipEventRecord" if self.gpu.amd else "cudaEventRecord"
        self.put(Call(name, self.drawn(1.5), records=event, on=stream))

    def hold(self, event: str, stream: Stream) -> None:
        """Let a stream wait for an event."""
        name = "hipStreamWaitEvent" if self.gpu.amd else "cudaStreamWaitEvent"
        self.put(Call(name, self.drawn(1.2), gates=event, on=stream))
