# SPDX-License-Identifier: BSD-3-Clause
"""simulated_gpu.py: what the profiler might record on a GPU of code that ran on a CPU.

The operators are real: they are those that the code runs, in their order. The times are
not: each operator has its kernels and lengths from the table below, which were chosen,
not measured. The rules are CUDA's: a launch returns at once, kernels of the stream run
in turn, and ``nonzero`` copies a number to the host and waits for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

OPERATOR_US = 10.0  # The host's own time in an operator, half before its launches.
LAUNCH_US = 5.0
WAIT_US = 8.0  # From the end of the awaited work until the host goes on.
BETWEEN_STEPS_US = 250.0  # Python of the host that needs no result of the step.
START_US = 2.0  # From a launch until an idle stream starts.

# Lengths of the kernels an operator launches; None is a copy to the host, and a wait.
KERNELS: dict[str, tuple[float | None, ...]] = {
    "aten::topk": (45.0,),
    "aten::nonzero": (6.0, None, 7.0),
    "aten::addmm": (28.0,),
    "aten::scaled_dot_product_attention": (22.0,),
    "aten::argmax": (6.0,),
    "aten::gather": (4.0,),
    "aten::index": (5.0,),
    "aten::full_like": (5.0,),
    "aten::index_put_": (6.0,),
    "aten::add": (3.0,),
    "aten::ge": (3.0,),
}


class OperatorsOf(TorchDispatchMode):
    """Notes the operators that run inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.append(func.name().partition(".")[0])
        return func(*args, **(kwargs or {}))


class SimulatedGpu:
    """One thread, one stream, and the events that Kineto would write of them."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._now = 0.0  # The host's time.
        self._free = 0.0  # When the stream has done all that was launched.
        self._launches = 0
        self._frames = 0

    def run(self, operators: list[str]) -> None:
        """Lets the host run operators and the stream what they launch."""
        for name in operators:
            with self.span("cpu_op", name):
                self._now += OPERATOR_US / 2
                for length in KERNELS.get(name, ()):  # Views launch nothing.
                    if length is None:
                        self._launch(
                            "cudaMemcpyAsync", "Memcpy DtoH", 2.0, "gpu_memcpy"
                        )
                        self._wait()
                    else:
                        self._launch("cudaLaunchKernel", f"{name[6:]}_kernel", length)
                self._now += OPERATOR_US / 2

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs a function on the CPU, and its operators here in a frame of its own."""
        with OperatorsOf() as operators:
            result = function(*args)
        code = function.__code__
        file = code.co_filename.rpartition("/")[2]
        self._frames += 1
        name = f"{file}({code.co_firstlineno}): {code.co_name}"
        with self.span("python_function", name, **{"Python id": self._frames}):
            self.run(operators.names)
        return result

    def think(self, time_us: float) -> None:
        """Keeps the host busy with Python."""
        self._now += time_us

    @contextmanager
    def span(self, category: str, name: str, **args: Any) -> Iterator[None]:
        """An event of the host around what runs in the block."""
        begin = self._now
        yield
        self._add(category, name, begin, self._now - begin, 100, 1, args)

    def trace(self) -> bytes:
        """The trace as a file would hold it; its metadata says that it is simulated."""
        device = {"id": 0, "name": "no GPU: simulated"}
        form = {
            "schemaVersion": 1,
            "simulated": "times by notebooks/simulated_gpu.py, none measured",
            "deviceProperties": [device],
            "traceEvents": self.events,
        }
        return json.dumps(form).encode()

    def _launch(
        self, call: str, name: str, length: float, category: str = "kernel"
    ) -> None:
        self._launches += 1
        args = {"correlation": self._launches}
        with self.span("cuda_runtime", call, **args):
            self._now += LAUNCH_US
        begin = max(self._now + START_US, self._free)
        self._free = begin + length
        self._add(
            category, name, begin, length, 0, 7, args | {"device": 0, "stream": 7}
        )

    def _wait(self) -> None:
        with self.span("cuda_runtime", "cudaStreamSynchronize"):
            self._now = max(self._now, self._free) + WAIT_US

    def _add(
        self,
        category: str,
        name: str,
        begin: float,
        length: float,
        pid: int,
        tid: int,
        args: dict[str, Any],
    ) -> None:
        times = {"ph": "X", "ts": round(begin, 3), "dur": round(length, 3)}
        place = {"pid": pid, "tid": tid}
        event = {"cat": category, "name": name, **times, **place, "args": args}
        self.events.append(event)


def decode(
    sample: Callable[..., torch.Tensor], steps: int = 6, layers: int = 16
) -> tuple[bytes, torch.Tensor]:
    """Simulates steps of decoding 8 sequences; gives the trace and what was sampled."""
    torch.manual_seed(0)
    gpu = SimulatedGpu()
    layer = ["aten::addmm", "aten::scaled_dot_product_attention", "aten::addmm"]
    sampled = []
    for step in range(steps):
        logits = torch.randn(8, 32000)
        noise = -torch.log(-torch.log(torch.rand(8, 32000)))
        with gpu.span("user_annotation", f"ProfilerStep#{step}"):
            gpu.run([*layer * layers, "aten::addmm"])
            sampled.append(gpu.call(sample, logits, noise, 50))
            gpu.think(BETWEEN_STEPS_US)
    return gpu.trace(), torch.stack(sampled)
