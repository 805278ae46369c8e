# SPDX-License-Identifier: BSD-3-Clause
"""function_mode.py: the mode in which "cuda" means the device of the dry run.

It sees the calls of torch's functions and tensors' methods and attributes, above the
dispatcher: there devices are named, and tensors made of Python data. torch takes a mode
away while it handles a function, and with it from the program's code that is called
back: backward hooks, functions with a gradient of their own, what is checkpointed, what
packs the tensors that are kept for backward. There it is entered again. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from torchtraceap_dryrun.device.functions import FUNCTIONS
from torchtraceap_dryrun.device.modes import function_modes
from torchtraceap_dryrun.device.moved_tensors import MovedTensors, data_functions
from torchtraceap_dryrun.device.named_devices import NAMED_DEVICES
from torchtraceap_dryrun.device.run import FunctionTable, Run
from torchtraceap_dryrun.device.tensors import DEVICE, is_gpu
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private


class FunctionMode(TorchFunctionMode):  # type: ignore[misc]
    """Rewrites devices, and answers for tensors on the device as CUDA would."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run
        self.moved = MovedTensors()
        self._replacements: FunctionTable = {
            **NAMED_DEVICES,
            **FUNCTIONS,
            **data_functions(self.moved),
        }

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.run.paused:
            return func(*args, **kwargs)
        if getattr(func, "__name__", "") == "__get__":
            # Attributes make nothing on a device that is asked for, and are many.
            return self._answer(func, args, kwargs)
        users = self.run.users_meta
        asked = users.asked_by(func, args, kwargs)
        if asked in (None, users.asked):
            return self._answer(func, args, kwargs)
        with users.asking(asked):
            return self._answer(func, args, kwargs)

    def _answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        if kwargs.get("pin_memory"):  # torch.empty(..., pin_memory=True) and its like
            rest = {key: value for key, value in kwargs.items() if key != "pin_memory"}
            with self:
                return func(*args, **rest).pin_memory()
        try:
            replacement = self._replacements.get(func)
        except TypeError:  # not hashable
            replacement = None
        if replacement is not None:
            return replacement(self.run, func, args, kwargs)
        if "device" in kwargs and is_gpu(kwargs["device"]):
            kwargs = {**kwargs, "device": DEVICE}
        return func(*args, **kwargs)


@contextmanager
def kept(mode: TorchFunctionMode) -> Iterator[None]:
    """Have ``mode``, which is to be entered in this block, in such code as well."""
    on = private("torch._C._EnableTorchFunction")  # it may be off where torch calls
    off = private("torch._C._is_torch_function_all_disabled")

    def in_mode(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not off() and any(one is mode for one in function_modes()):
                return function(*args, **kwargs)
            with on(), mode:
                return function(*args, **kwargs)

        return call

    run = private("torch.autograd._engine_run_backward")
    push = private("torch._C._autograd._push_saved_tensors_default_hooks")

    def push_in_mode(pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        push(in_mode(pack), in_mode(unpack))

    with Replacements() as replaced:
        replaced.set(torch.autograd, "_engine_run_backward", in_mode(run))
        autograd = torch._C._autograd
        replaced.set(autograd, "_push_saved_tensors_default_hooks", push_in_mode)
        yield
