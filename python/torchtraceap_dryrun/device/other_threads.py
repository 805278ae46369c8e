# SPDX-License-Identifier: BSD-3-Clause
"""other_threads.py: refuses the device to threads beside the one that a run follows.

torch's modes are of one thread, so nothing would be seen of what others run on the
device's tensors. The facade of torch.cuda refuses those that ask for the GPU; here are
those that are given tensors of it, or pin memory for it. Loads torch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap_dryrun.device.devices import on_device
from torchtraceap_dryrun.device.memory import memory_of
from torchtraceap_dryrun.device.modes import in_other_thread
from torchtraceap_dryrun.device.nested import tensors_in
from torchtraceap_dryrun.facade.host import active, is_active
from torchtraceap_dryrun.facade.replacing import Replacements

_OF_DEVICE = (Tensor.cuda, Tensor.pin_memory)


class _NoNames(TorchFunctionMode):  # type: ignore[misc]
    """Refuses functions that name the device. It outlives the run, as the thread may,
    and holds nothing of it: then there is nobody to refuse it."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # To make a torch.device is no use of it.
        if (is_active() and func is not torch.device) and (
            func in _OF_DEVICE
            or kwargs.get("pin_memory")
            or any(map(_names_gpu, [*args, *kwargs.values()]))
        ):
            active().check_thread()
        return func(*args, **kwargs)


class _NoTensors(TorchDispatchMode):  # type: ignore[misc]
    """Refuses operators on tensors of the device, likewise."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if is_active() and any(map(_is_of_run, tensors_in([*args, *kwargs.values()]))):
            active().check_thread()
        return func(*args, **kwargs)


def _names_gpu(value: Any) -> bool:
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


def _is_of_run(tensor: Tensor) -> bool:
    """Tell whether a tensor is of the device; others may be meta too."""
    return on_device(tensor) and memory_of(tensor) is not None


@contextmanager
def refused() -> Iterator[None]:
    """Refuse the device to threads that start in the block, and to work that is given
    to pools there."""
    of_python, of_pool = threading.Thread.start, ThreadPoolExecutor.submit

    def start(thread: threading.Thread) -> None:
        # Of the object, for a class may have a run() of its own.
        of_thread = thread.run
        replaced = Replacements()

        def run() -> None:
            replaced.undo()
            with in_other_thread(_NoNames(), _NoTensors()):
                of_thread()

        replaced.set(thread, "run", run)
        try:
            of_python(thread)
        except BaseException:
            replaced.undo()
            raise

    def submit(
        pool: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        @wraps(work)
        def run(*args: Any, **kwargs: Any) -> Any:
            with in_other_thread(_NoNames(), _NoTensors()):
                return work(*args, **kwargs)

        return of_pool(pool, run, *args, **kwargs)

    with Replacements() as replaced:
        replaced.set(threading.Thread, "start", start)
        replaced.set(ThreadPoolExecutor, "submit", submit)
        yield
