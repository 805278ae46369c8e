# SPDX-License-Identifier: BSD-3-Clause
"""answers.py: what tensors on the device say of themselves, and how they are read.

Loads torch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torchtraceap.base.errors import DryRunError
from torchtraceap.waits.table import PRINT
from torchtraceap_dryrun.device.devices import CUDA
from torchtraceap_dryrun.device.pinned import is_pinned, mark_pinned
from torchtraceap_dryrun.device.replacements import (
    FunctionTable,
    Replacement,
    answer,
    is_here,
)
from torchtraceap_dryrun.device.saved_place import mark_saved
from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.without_modes import without_function_modes

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.border import Border


def _to_list(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    return func(args[0].cpu() if is_here(args[0]) else args[0])


def _to_numpy(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    force = kwargs.get("force", False)
    if not is_here(args[0]):
        return func(*args, **kwargs)
    if force:
        return args[0].detach().cpu().numpy()
    raise TypeError(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy "
        "the tensor to host memory first."
    )


def _to_text(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    tensor = args[0]
    if not is_here(tensor):
        return func(*args, **kwargs)
    with without_function_modes():
        values, known = border.run.values.read(tensor.detach())
        border.run.emit(torch.ops.aten._to_copy.default, (tensor,), {}, [])
        border.run.recorder.sync(PRINT, "seen", "known" if known else "guessed")
        text = private("torch._tensor_str._str")(
            values.requires_grad_(tensor.requires_grad and values.is_floating_point())
        )
    inner, _, _ = text.rpartition(")")
    return f"{inner}, device='cuda:0')"


def _format(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    tensor, spec = args[0], args[1] if len(args) > 1 else ""
    if not is_here(tensor):
        return func(*args, **kwargs)
    if tensor.dim() == 0:
        return format(tensor.item(), spec)
    return format(_to_text(border, Tensor.__repr__, (tensor,), {}), spec)


def _deepcopy(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    # Inside it asks for the device, and knows how to copy "meta".
    with without_function_modes():
        return copy.deepcopy(args[0], *args[1:]) if is_here(args[0]) else func(*args)


def _address(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if not is_here(args[0]):
        return func(*args, **kwargs)
    with without_function_modes():
        offset = args[0].storage_offset() * args[0].itemsize
        return id(args[0].untyped_storage()) + offset


def _refuse(what: str) -> Replacement:
    def replacement(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
        if is_here(args[0]):
            raise DryRunError(f"{what} needs memory on a GPU, which a dry run has not")
        return func(*args, **kwargs)

    return replacement


def _pin(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if is_here(args[0]):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors")
    return args[0] if is_pinned(args[0]) else mark_pinned(args[0].clone())


def _pinned(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    return not is_here(args[0]) and is_pinned(args[0])


def pickling(
    former: Any, seen: Callable[[Tensor], None]
) -> Callable[[Tensor, Any], Any]:
    """Return what pickles tensors, as for torch.save, in place of ``former``: those of
    the device are copied to the host. torch does not ask function modes for it.
    ``seen`` is told of each."""

    def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
        seen(self)
        if not is_here(self):
            return former(self, protocol)
        host = self.detach().cpu().requires_grad_(self.requires_grad)
        with without_function_modes():
            mark_saved(host)
            return former(host, protocol)

    return __reduce_ex__


ANSWERS: FunctionTable = {
    Tensor.device.__get__: answer(CUDA),
    Tensor.is_cuda.__get__: answer(True),
    Tensor.is_meta.__get__: answer(False),
    Tensor.get_device: answer(0),
    torch.get_device: answer(0),
    Tensor.record_stream: answer(None),
    Tensor.tolist: _to_list,
    Tensor.numpy: _to_numpy,
    Tensor.__array__: _to_numpy,
    Tensor.__repr__: _to_text,
    Tensor.__format__: _format,
    Tensor.__deepcopy__: _deepcopy,
    Tensor.data_ptr: _address,
    Tensor.__dlpack__: _refuse("__dlpack__"),
    Tensor.__dlpack_device__: _refuse("__dlpack__"),
    Tensor.__cuda_array_interface__.__get__: _refuse("__cuda_array_interface__"),
    Tensor.pin_memory: _pin,
    Tensor.is_pinned: _pinned,
}
