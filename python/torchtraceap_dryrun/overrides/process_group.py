# SPDX-License-Identifier: BSD-3-Clause
"""process_group.py: one rank of a process group, without the others. Loads torch.

A collective is written down with its sizes. As for values, all ranks are taken to hold
what this one holds. NCCL runs on a stream of its own if asked to run beside
(``async_op=True``, and always for gradients), else on the current one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from torchtraceap_dryrun.device.devices import on_device
from torchtraceap_dryrun.device.dispatch import Dispatch
from torchtraceap_dryrun.device.nested import tensors_in
from torchtraceap_dryrun.without_modes import without_function_modes

#: Method of a group: name of the operator, and how many of its first arguments are
#: written to and, after them, read.
METHODS = {
    "allreduce": ("c10d::allreduce_", 1, 0),
    "allreduce_coalesced": ("c10d::allreduce_coalesced_", 1, 0),
    "broadcast": ("c10d::broadcast_", 1, 0),
    "reduce": ("c10d::reduce_", 1, 0),
    "allgather": ("c10d::allgather_", 1, 1),
    "_allgather_base": ("c10d::_allgather_base_", 1, 1),
    "allgather_coalesced": ("c10d::allgather_coalesced_", 1, 1),
    "allgather_into_tensor_coalesced": (
        "c10d::allgather_into_tensor_coalesced_",
        1,
        1,
    ),
    "gather": ("c10d::gather_", 1, 1),
    "scatter": ("c10d::scatter_", 1, 1),
    "reduce_scatter": ("c10d::reduce_scatter_", 1, 1),
    "_reduce_scatter_base": ("c10d::_reduce_scatter_base_", 1, 1),
    "reduce_scatter_tensor_coalesced": (
        "c10d::reduce_scatter_tensor_coalesced_",
        1,
        1,
    ),
    "alltoall": ("c10d::alltoall_", 1, 1),
    "alltoall_base": ("c10d::alltoall_base_", 1, 1),
    "send": ("c10d::send", 0, 1),
    "recv": ("c10d::recv_", 1, 0),
    "recv_anysource": ("c10d::recv_any_source_", 1, 0),
}
# They sum over ranks, so values are other than those of this rank.
_SUMS = ("allreduce", "reduce")

_NOTE = (
    "of the ranks only this one is there, the others are a stand-in: collectives are "
    "estimated at 100 GB/s a link, and no rank waits for another"
)


class Work(dist._Work):  # type: ignore[misc]
    """What a collective gives: to wait for it orders streams, not the host."""

    def __init__(self, done: Any, outputs: list[Tensor], block: Any = None) -> None:
        super().__init__()
        self._done, self._outputs, self._block = done, outputs, block

    def wait(self, timeout: Any = None) -> bool:
        """Let the current stream wait; of a barrier, the host too."""
        if self._done is not None:
            torch.cuda.current_stream().wait_event(self._done)
        if self._block is not None:
            self._block()
        return True

    def is_completed(self) -> bool:
        """Say yes, so that loops which wait for it end."""
        return True

    def is_success(self) -> bool:
        """Say that no rank failed."""
        return True

    def result(self) -> list[Tensor]:
        """Return what was written to."""
        return self._outputs

    def get_future(self) -> torch.futures.Future[Any]:
        """Return a future that is done."""
        self.wait()
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(self._outputs)
        return future


class Group(dist.ProcessGroup):  # type: ignore[misc]
    """One rank of a group whose others are not there."""

    def __init__(self, run: Dispatch, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._run = run
        self._stream: Any = None
        self.backend = "nccl"

    @property
    def _device_types(self) -> list[torch.device]:
        # Of "nccl", which has no CPU: objects are sent by way of the GPU.
        names = ("cuda",) if self.backend == "nccl" else ("cpu", "cuda")
        return [torch.device(name) for name in names]

    def getBackendName(self) -> str:
        """Return what the program asked for."""
        return self.backend

    def collective(self, method: str, written: Any, read: Any, beside: bool) -> Work:
        """Write down a collective on the tensors in ``written`` and ``read``."""
        outputs, inputs = list(tensors_in([written])), list(tensors_in([read]))
        # To function modes no tensor is on "meta".
        with without_function_modes():
            if not any(map(on_device, chain(outputs, inputs))):
                _on_host(method, outputs, inputs, self.size())
                return Work(None, outputs)
            if not beside:
                self._write(method, outputs, inputs)
                return Work(None, outputs)
            if self._stream is None:
                self._stream = torch.cuda.Stream()
            self._stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._stream):
                self._write(method, outputs, inputs)
            return Work(self._stream.record_event(), outputs)

    def _write(self, method: str, outputs: list[Tensor], inputs: list[Tensor]) -> None:
        run, values = self._run, self._run.values
        taken = (outputs, inputs) if inputs else (outputs,)
        size = {"world_size": self.size()}
        run.recorder.note(_NOTE)
        run.recorder.op(METHODS[method][0], "", taken, size, outputs)
        for number, output in enumerate(outputs):
            if method.startswith(_SUMS) or not inputs:
                if method != "broadcast":
                    values.doubt(output)
                continue
            source = inputs[number % len(inputs)]
            shadow = values.shadow(source)
            if shadow is None or source.numel() != output.numel():
                values.doubt(output)
            else:
                values.put(output, shadow.reshape(output.shape), known=False)

    def barrier(self, opts: Any = None) -> Work:
        """Write down a barrier: the host waits, if it waits for the work."""
        recorder = self._run.recorder

        def block() -> None:
            recorder.call("stream_sync", recorder.current_stream)
            recorder.wait("torch.distributed.barrier")

        return Work(None, [], block)

    def shutdown(self) -> None:
        """Do nothing: nothing was opened."""


def _method(name: str) -> Callable[..., Work]:
    _, written, read = METHODS[name]

    def method(self: Group, *args: Any) -> Work:
        beside = getattr(args[-1], "asyncOp", True) if args else True
        inputs = args[written : written + read]
        return self.collective(name, args[:written], inputs, beside)

    return method


for _name in METHODS:
    setattr(Group, _name, _method(_name))


def _on_host(
    method: str, outputs: list[Tensor], inputs: list[Tensor], ranks: int
) -> None:
    """Work a collective on host tensors out: all ranks hold the same."""
    if method.startswith(_SUMS):
        for output in outputs:
            output.mul_(ranks)
        return
    flat = torch.cat([each.reshape(-1) for each in inputs]) if inputs else None
    for output in outputs:
        if flat is not None and flat.numel():
            times = -(-output.numel() // flat.numel())
            whole = flat.repeat(times)[: output.numel()]
            output.copy_(whole.view(output.shape))
