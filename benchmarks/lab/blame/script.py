# SPDX-License-Identifier: BSD-3-Clause
"""script.py: writes what a program asks of its devices: launches, copies, waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.lab.blame.drafting import Draft
from benchmarks.lab.blame.instructions import Call, Stream, Work
from benchmarks.lab.blame.kernels import Kernel
from benchmarks.lab.blame.pieces import Op, Piece

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
