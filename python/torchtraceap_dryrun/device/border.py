# SPDX-License-Identifier: BSD-3-Clause
"""border.py: the mode in which "cuda" means the device of the dry run.

It sees the calls of torch's functions and tensors' methods and attributes, above the
dispatcher: there devices are named, and tensors made of Python data. Loads torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from torchtraceap_dryrun.device.answers import ANSWERS
from torchtraceap_dryrun.device.copies import copy_to_device
from torchtraceap_dryrun.device.devices import DEVICE, is_gpu
from torchtraceap_dryrun.device.dispatch import Dispatch
from torchtraceap_dryrun.device.list_indices import LIST_INDICES
from torchtraceap_dryrun.device.losses import LOSSES
from torchtraceap_dryrun.device.moved_tensors import TENSOR_DATA, MovedTensors
from torchtraceap_dryrun.device.named_devices import NAMED_DEVICES
from torchtraceap_dryrun.device.replacements import FunctionTable
from torchtraceap_dryrun.without_modes import without_function_modes

REPLACEMENTS: FunctionTable = {
    **NAMED_DEVICES,
    **LIST_INDICES,
    **ANSWERS,
    **LOSSES,
    **TENSOR_DATA,
}


class Border(TorchFunctionMode):  # type: ignore[misc]
    """Rewrites devices, and answers for tensors on the device as CUDA would.

    Args:
        run: What records.
    """

    def __init__(self, run: Dispatch) -> None:
        super().__init__()
        self.run = run
        run.functions = self
        self.moved = MovedTensors()

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
            replacement = REPLACEMENTS.get(func)
        except TypeError:  # not hashable
            replacement = None
        if replacement is not None:
            return replacement(self, func, args, kwargs)
        if "device" in kwargs and is_gpu(kwargs["device"]):
            kwargs = {**kwargs, "device": DEVICE}
        return func(*args, **kwargs)

    def push(self, tensor: Tensor, api: str) -> Tensor:
        """Copy a tensor of the host to the device, as torch does with data."""
        with without_function_modes():
            out = self.run.new(tensor.shape, tensor.dtype)
            to_copy = torch.ops.aten._to_copy.default
            copy_to_device(self.run, to_copy, out, tensor, True, api)
        return out
