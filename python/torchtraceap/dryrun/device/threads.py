# SPDX-License-Identifier: BSD-3-Clause
"""threads.py: refuses the device to threads that a program starts in a dry run.

torch's modes are of one thread, and so is all that a run knows of where a program is.
Without this, what another thread does on the device would be lost unsaid. Loads torch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from torchtraceap.dryrun.device.dispatch import Dispatch
from torchtraceap.dryrun.device.nested import tensors_in
from torchtraceap.dryrun.device.replacements import is_here
from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.without_modes import without_function_modes
from torchtraceap.errors import DryRunError


class _Elsewhere(TorchFunctionMode):  # type: ignore[misc]
    def __init__(self, run: Dispatch, left: threading.Event) -> None:
        super().__init__()
        self._run = run
        self._left = left

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not (self._run.paused or self._left.is_set()):
            with without_function_modes():
                given = [*args, *kwargs.values()]
                used = func is Tensor.cuda or any(map(_names_device, given))
                used = used or any(map(is_here, tensors_in(given)))
            if used:
                self._refuse(getattr(func, "__name__", str(func)))
        return func(*args, **kwargs)

    def _refuse(self, what: str) -> None:
        thread = threading.current_thread().name
        self._run.recorder.note(
            f"the thread {thread!r} was refused the GPU ({what}): a dry run follows "
            "only the thread that entered it, so what others do is missing"
        )
        raise DryRunError(
            f"the thread {thread!r} uses the GPU ({what}), but a dry run follows only "
            "the thread that entered it. Let that one do it: run the function directly "
            "instead of in a thread or a pool, or load without device_map and move the "
            'model with .to("cuda")'
        )


def _names_device(value: Any) -> bool:
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


@contextmanager
def refused(run: Dispatch) -> Iterator[None]:
    """Refuse the device to threads that start in the block, until it ends."""
    left = threading.Event()
    of_python = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        # Of the object, for a class may have a run() of its own.
        of_thread = thread.run

        def watched() -> None:
            with _Elsewhere(run, left):
                of_thread()

        thread.run = watched  # type: ignore[method-assign]
        of_python(thread)

    with Replacements() as replaced:
        replaced.set(threading.Thread, "start", start)
        try:
            yield
        finally:
            left.set()
