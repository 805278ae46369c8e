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

from torchtraceap_dryrun.device.arguments import tensors_in
from torchtraceap_dryrun.device.modes import (
    function_modes,
    pop_function_mode,
    push_function_mode,
    without_function_modes,
)
from torchtraceap_dryrun.device.tensors import memory_of, on_device
from torchtraceap_dryrun.facade.active_run import active, is_active
from torchtraceap_dryrun.facade.replacing import Replacements

_OF_DEVICE = (Tensor.cuda, Tensor.pin_memory)


class _Refusing(TorchFunctionMode):  # type: ignore[misc]
    """Refuses functions that name the device, or are given tensors of it. It outlives
    the run, as the thread may, and holds nothing of it: then it refuses nothing."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # Making a torch.device does not use the device.
        if is_active() and func is not torch.device:
            given = [*args, *kwargs.values()]
            uses = func in _OF_DEVICE or kwargs.get("pin_memory")
            if uses or any(map(_names_gpu, given)) or _has_device_tensor(given):
                active().check_thread()
        return func(*args, **kwargs)


def _names_gpu(value: Any) -> bool:
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


def _has_device_tensor(given: list[Any]) -> bool:
    """Tell whether a tensor is of the run; others may be meta too."""
    with without_function_modes():
        return any(on_device(t) and memory_of(t) is not None for t in tensors_in(given))


def _refused(work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def run(*args: Any, **kwargs: Any) -> Any:
        # Not as modes are entered: that keeps flags of the process, which a thread that
        # outlives the run would set back.
        mode = _Refusing()
        push_function_mode(mode)
        try:
            return work(*args, **kwargs)
        finally:
            while any(one is mode for one in function_modes()):
                pop_function_mode()

    return run


@contextmanager
def refused() -> Iterator[None]:
    """Refuse the device to threads that start in the block, and to work that is given
    to pools there."""
    of_python, of_pool = threading.Thread.start, ThreadPoolExecutor.submit

    def start(thread: threading.Thread) -> None:
        # Of the object, as a class may have its own run().
        of_thread, replaced = _refused(thread.run), Replacements()

        def run() -> None:
            replaced.undo()
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
        return of_pool(pool, _refused(work), *args, **kwargs)

    with Replacements() as replaced:
        replaced.set(threading.Thread, "start", start)
        replaced.set(ThreadPoolExecutor, "submit", submit)
        yield
