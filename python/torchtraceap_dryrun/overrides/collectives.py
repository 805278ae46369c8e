# SPDX-License-Identifier: BSD-3-Clause
"""collectives.py: `torch.distributed` in one process, without NCCL. Loads torch.

`init_process_group` makes a group of as many ranks as the program, its environment or
the run says, of which only one is there. A collective is written down with its sizes.
As for values, all ranks are taken to hold what this one holds. NCCL runs on a stream of
its own if asked to run beside (``async_op=True``, and always for gradients), else on
the current one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any

import torch
import torch.cuda.nccl
import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d

from torchtraceap_dryrun.device.arguments import tensors_in
from torchtraceap_dryrun.device.modes import without_function_modes
from torchtraceap_dryrun.device.run import Run
from torchtraceap_dryrun.device.tensors import on_device
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private

_IN_PLACE = "allreduce allreduce_coalesced broadcast reduce recv"
_TO_OTHERS = """
    allgather _allgather_base allgather_coalesced allgather_into_tensor_coalesced
    gather scatter reduce_scatter _reduce_scatter_base reduce_scatter_tensor_coalesced
    alltoall alltoall_base
"""
#: Method of a group: the operator of c10d, and how many of its first arguments are
#: written to and, after them, read.
METHODS = {
    "send": ("send", 0, 1),
    "recv_anysource": ("recv_any_source_", 1, 0),
    **{name: (f"{name}_", 1, 0) for name in _IN_PLACE.split()},
    **{name: (f"{name}_", 1, 1) for name in _TO_OTHERS.split()},
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
        return True

    def result(self) -> list[Tensor]:
        return self._outputs

    def get_future(self) -> torch.futures.Future[Any]:
        self.wait()
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(self._outputs)
        return future


class Group(dist.ProcessGroup):  # type: ignore[misc]
    """One rank of a group whose others are not there."""

    def __init__(self, run: Run, rank: int, size: int) -> None:
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
        run.recorder.op(f"c10d::{METHODS[method][0]}", "", taken, size, outputs)
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
        wait = self._run.recorder.wait
        block = partial(wait, "torch.distributed.barrier", "stream_sync")
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


BACKEND = "torchtraceap"

# What torch 2.13 comes with; it goes into the log of collectives that failed.
NCCL_VERSION = 2, 29, 3

# What torch knows of backends.
_TABLES = (
    "backend_list",
    "backend_capability",
    "backend_type_map",
    "default_device_backend_map",
    "_plugins",
)


_RANKS = 8  # If their number is not given.


def _size(named: int, variable: str, default: int) -> int:
    return named if named >= 0 else int(os.environ.get(variable, default))


@contextmanager
def installed(run: Run) -> Iterator[None]:
    """Let process groups be made, of 8 ranks if the program and the environment
    (``WORLD_SIZE``) say nothing; groups made inside end with the block."""
    helper = private("torch.distributed.distributed_c10d._new_process_group_helper")
    world = private("torch.distributed.distributed_c10d._world")
    backend = dist.Backend

    def rendezvous(url: str, rank: int = -1, world_size: int = -1, **_: Any) -> Any:
        there = _size(rank, "RANK", 0), _size(world_size, "WORLD_SIZE", _RANKS)
        yield dist.HashStore(), *there

    def make(
        size: int, rank: int, ranks: Any, named: Any, *args: Any, **rest: Any
    ) -> Any:
        rest.pop("device_id", None)
        group, store = helper(size, rank, ranks, backend(BACKEND), *args, **rest)
        if isinstance(group, Group):
            if str(named) != "undefined":
                group.backend = str(named)
            world.pg_map[group] = (group.backend, store)
        return group, store

    def create(_: Any, rank: int, size: int, __: Any) -> Group:
        return Group(run, rank, size)

    before = dist.is_initialized()
    with Replacements() as replaced:
        replaced.set(sys, "excepthook", sys.excepthook)  # a new group changes it
        for table in _TABLES:
            former = getattr(backend, table)
            replaced.set(backend, table, type(former)(former))
        replaced.set(backend, BACKEND.upper(), BACKEND, new=True)
        backend.register_backend(BACKEND, create, devices=["cpu", "cuda"])
        replaced.set(distributed_c10d, "rendezvous", rendezvous)
        # NCCL's; nothing here takes time.
        timeout = timedelta(minutes=10)
        replaced.set(distributed_c10d, "_get_default_timeout", lambda _: timeout)
        replaced.set(torch.cuda.nccl, "version", lambda: NCCL_VERSION)
        replaced.set(distributed_c10d, "_new_process_group_helper", make)
        try:
            yield
        finally:
            if dist.is_initialized() and not before:
                dist.destroy_process_group()
