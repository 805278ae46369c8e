# SPDX-License-Identifier: BSD-3-Clause
"""facade.py: makes torch.cuda and its like answer as on a machine with one GPU.

What is replaced by what stands in facade_table.py. Loads torch.
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import Any

import torch

from torchtraceap.dryrun import rng, streams
from torchtraceap.dryrun.cuda_runtime import Cudart, Nvtx
from torchtraceap.dryrun.device_properties import (
    CUDA_VERSION,
    CUDNN_VERSION,
    Device,
    check_device,
    refuse,
)
from torchtraceap.dryrun.facade_table import CACHES, REPLACED, SET_IF_NONE
from torchtraceap.dryrun.host import Host, set_active
from torchtraceap.dryrun.memory_figures import MemoryFigures
from torchtraceap.dryrun.replacing import Replacements
from torchtraceap.dryrun.stream_pool import Streams
from torchtraceap.errors import DryRunError


class Facade:
    """What stands in for parts of torch, while a block lasts.

    Args:
        host: The recorder, which is told of waits and asked for memory.

    Raises:
        DryRunError: On entry, if a real GPU is here.
    """

    yes, one = True, 1
    cuda_version, cudnn_version = CUDA_VERSION, CUDNN_VERSION
    no_graph = refuse(
        "a CUDA graph", "what it would replay is not run. Dry-run the step without it"
    )
    no_ipc = refuse("an event of another process", "there is no GPU to share")
    no_allocator = refuse(
        "memory from CUDA's allocator", "there is none behind a tensor's sizes"
    )
    no_handle = refuse("a handle of cuBLAS or cuSOLVER", "no library runs")
    no_jiterator = refuse(
        "a kernel of torch.cuda.jiterator", "what it computes is not known"
    )
    no_sensors = refuse("a GPU's sensors", "there is no GPU to ask")
    priority_range = staticmethod(streams.Stream.priority_range)

    def __init__(self, host: Host) -> None:
        self._host = host
        self._replaced = Replacements()
        self.device = Device(host.gpu)
        self.memory = MemoryFigures(host)
        self.cudart = Cudart(host, self.memory)
        self.nvtx = Nvtx()
        self.streams = Streams(host)
        self.generators = (rng.Generator(),)
        # As functions: they are called with the class first, which __new__ needs.
        of_cuda = self.streams.of_cuda
        self.cuda_stream = lambda cls, *args, **kwargs: of_cuda(cls, *args, **kwargs)
        self.cuda_event = lambda cls, *args, **kwargs: streams.Event(*args, **kwargs)
        self.any_stream = _stand_in(torch.Stream, self._stream)
        self.any_event = _stand_in(torch.Event, _event)
        self.any_generator = _stand_in(torch.Generator, _generator)

    def __enter__(self) -> Facade:
        if torch.cuda.is_available():
            raise DryRunError(
                f"a real GPU is here: {torch.cuda.get_device_name()}. A dry run is for "
                "machines without; set CUDA_VISIBLE_DEVICES= (empty) to have one here"
            )
        try:
            set_active(self._host)
            _forget_answers()
            self._replace()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._undo()
        finally:  # Once more: Ctrl-C may have broken off the first time.
            self._undo()

    def _undo(self) -> None:
        self._replaced.undo()
        _forget_answers()
        set_active(None)

    def _replace(self) -> None:
        for path, attribute in SET_IF_NONE.items():
            owner, name = _place(path)
            if getattr(owner, name) is None:
                self._replaced.set(owner, name, attrgetter(attribute)(self))
        for path, attribute in REPLACED.items():
            owner, name = _place(path)
            former = getattr(owner, name, None)
            value = attrgetter(attribute)(self)
            self._replaced.set(owner, name, value)
            if owner is torch:
                self._replaced.set_wherever(former, value)

    def synchronize(self) -> None:
        """Wait for the device."""
        self._wait("torch.cuda.synchronize")

    def synchronize_accelerator(self, index: int) -> None:
        """Wait for a device."""
        check_device(index)
        self._wait("torch.accelerator.synchronize")

    def _wait(self, api: str) -> None:
        self._host.call("device_sync", self._host.current_stream)
        self._host.wait(api)

    def _stream(self, device: Any = None, priority: int = 0, **kwargs: Any) -> Any:
        if "stream_id" not in kwargs and not _is_on_gpu(device):
            return None
        return self.streams.of_cuda(torch.cuda.Stream, device, priority, **kwargs)


def _event(device: Any = None, enable_timing: bool = False, **_: Any) -> Any:
    return streams.Event(enable_timing) if _is_on_gpu(device) else None


def _generator(device: Any = "cpu") -> Any:
    return rng.Generator() if _is_on_gpu(device) else None


def _is_on_gpu(device: Any) -> bool:
    """Tell whether a device, by default that of the accelerator, is the GPU."""
    if device is None:
        return True
    device = torch.device(device)
    if device.type == "cuda":
        check_device(device.index or 0)
    return bool(device.type == "cuda")


def _stand_in(former: Any, make: Any) -> Any:
    """Return a class that makes what ``make`` does or, if that is None, what ``former``
    does, and counts all of these as its instances."""

    class Meta(type(former)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, former)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, former)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is not stand_in:  # A user's subclass of it.
                return super().__call__(*args, **kwargs)
            made = make(*args, **kwargs)
            return former(*args, **kwargs) if made is None else made

    names = {"__doc__": former.__doc__, "__module__": former.__module__}
    stand_in = Meta(former.__name__, (former,), names)
    return stand_in


def _place(path: str) -> tuple[Any, str]:
    """Return where a dotted name of torch lies, and its last part."""
    parts = path.split(".")
    owner: Any = torch
    for at, part in enumerate(parts[1:-1], 2):
        if not hasattr(owner, part):
            import_module(".".join(parts[:at]))
        owner = getattr(owner, part)
    return owner, parts[-1]


def _forget_answers() -> None:
    for path in CACHES:
        owner, name = _place(path)
        getattr(owner, name).cache_clear()
