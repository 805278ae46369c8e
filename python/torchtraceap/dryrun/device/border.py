# SPDX-License-Identifier: BSD-3-Clause
"""border.py: the mode in which "cuda" means the device of the dry run.

It sees the calls of torch's functions and tensors' methods and attributes, above the
dispatcher: there devices are named, and tensors made of Python data. Loads torch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from torchtraceap.dryrun.device.copies import copy_to_device
from torchtraceap.dryrun.device.devices import CUDA, DEVICE, is_gpu, on_device
from torchtraceap.dryrun.device.dispatch import Dispatch
from torchtraceap.dryrun.device.losses import LOSSES
from torchtraceap.dryrun.device.pinned import is_pinned, mark_pinned
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.waits.sync_ops import BY_LIST, OF_DATA, PRINT
from torchtraceap.errors import DryRunError

Replacement = Callable[["Border", Any, Sequence[Any], dict[str, Any]], Any]

_NoFunctionModes = private("torch._C.DisableTorchFunction")
_function_modes = private("torch.overrides._get_current_function_mode_stack")
_DeviceContext = private("torch.utils._device.DeviceContext")
_CPU = torch.device("cpu")
# Until 2.13 a number that is put into a CUDA tensor becomes a tensor of the host first.
_NUMBERS_ARE_TENSORS = torch.__version__ < (2, 14)


class Border(TorchFunctionMode):  # type: ignore[misc]
    """Rewrites devices, and answers for tensors on the device as CUDA would.

    Args:
        run: What records.
        functions: More replacements: called with (args, kwargs), of which at least one
            tensor is on the device.
    """

    def __init__(
        self, run: Dispatch, functions: Mapping[Any, Callable[[Any, Any], Any]]
    ) -> None:
        super().__init__()
        self.run = run
        self._functions = functions

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.run.paused:
            return func(*args, **kwargs)
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
        other = self._functions.get(func)
        if other is not None:
            return other(args, kwargs)
        if "device" in kwargs and is_gpu(kwargs["device"]):
            kwargs = {**kwargs, "device": DEVICE}
        return func(*args, **kwargs)

    def push(self, tensor: Tensor, api: str) -> Tensor:
        """Copy a tensor of the host to the device, as torch does with data."""
        with _NoFunctionModes():
            out = self.run.new(tensor.shape, tensor.dtype)
            to_copy = torch.ops.aten._to_copy.default
            copy_to_device(self.run, to_copy, out, tensor, True, api)
        return out


def _is_here(value: Any) -> bool:
    with _NoFunctionModes():
        return isinstance(value, Tensor) and on_device(value)


def _answer(value: Any) -> Replacement:
    """Answer for a tensor on the device; ask those of the host."""

    def replacement(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
        return value if _is_here(args[0]) else func(*args, **kwargs)

    return replacement


def _device(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    """torch.device(0): the first GPU."""
    if len(args) == 1 and type(args[0]) is int and not kwargs and is_gpu(args[0]):
        return CUDA
    return func(*args, **kwargs)


def _without_modes(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    with _NoFunctionModes():
        return func(*args, **kwargs)


# --- Devices as arguments ------------------------------------------------------------


def _to(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    rest = [
        DEVICE if not isinstance(a, Tensor | bool) and _names_gpu(a) else a
        for a in args[1:]
    ]
    if is_gpu(kwargs.get("device")):
        kwargs = {**kwargs, "device": DEVICE}
    return func(args[0], *rest, **kwargs)


def _names_gpu(value: Any) -> bool:
    return isinstance(value, str | int | torch.device) and is_gpu(value)


def _cuda(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    names = ("device", "non_blocking", "memory_format")
    given = {**dict(zip(names, args[1:], strict=False)), **kwargs}
    device = given.pop("device", None)
    if device is not None and not is_gpu(device):
        raise ValueError(f"Invalid device, must be cuda device (got {device})")
    return args[0].to(DEVICE, **given)


def _from_data(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    """torch.tensor(data, device=) and its like: made on the host, then copied."""
    device = kwargs.get("device") or _default_device()
    args = (*map(_read, args[:1]), *args[1:])
    if not is_gpu(device) or _is_here(args[0] if args else kwargs.get("data")):
        if is_gpu(kwargs.get("device")):
            kwargs = {**kwargs, "device": DEVICE}
        return func(*args, **kwargs)
    grad = kwargs.get("requires_grad", False)
    kwargs = {k: v for k, v in kwargs.items() if k != "requires_grad"}
    with _NoFunctionModes():
        host = func(*args, **{**kwargs, "device": _CPU})
    out = border.push(host, OF_DATA)
    return out.requires_grad_() if grad else out


def _default_device() -> Any:
    # torch.get_default_device would make a tensor there to find out.
    for mode in reversed(_function_modes()):
        if isinstance(mode, _DeviceContext):
            return mode.device
    return None


def _read(data: Any) -> Any:
    """Read the values of tensors among lists, one by one, as torch does."""
    if not isinstance(data, list | tuple):
        return data
    return [one.item() if _is_here(one) else _read(one) for one in data]


def _new_tensor(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    device = kwargs.get("device", CUDA if _is_here(args[0]) else None)
    if not is_gpu(device):
        return func(*args, **kwargs)
    rest = {k: v for k, v in kwargs.items() if k != "device"}
    rest.setdefault("dtype", args[0].dtype)
    data = args[1] if len(args) > 1 else rest.pop("data")
    if isinstance(data, Tensor):
        return data.detach().to(DEVICE, rest["dtype"])
    return _from_data(border, torch.tensor, (data,), {**rest, "device": CUDA})


# --- Indices -------------------------------------------------------------------------


def _by_index(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if _is_here(args[0]):
        index = args[1]
        whole = index if isinstance(index, tuple) else (index,)
        if any(map(_is_data, whole)):
            moved = tuple(_as_index(border, one) for one in whole)
            args = (args[0], moved if isinstance(index, tuple) else moved[0], *args[2:])
    return func(*args, **kwargs)


def _set_by_index(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    is_number = len(args) > 2 and isinstance(args[2], bool | int | float | complex)
    if _NUMBERS_ARE_TENSORS and is_number and _is_here(args[0]):
        with _NoFunctionModes():
            number = torch.scalar_tensor(args[2], dtype=args[0].dtype)
        args = (*args[:2], number)
    return _by_index(border, func, args, kwargs)


def _is_data(index: Any) -> bool:
    if isinstance(index, list | range):
        return not any(isinstance(one, slice | Tensor) or one is None for one in index)
    return type(index).__name__ == "ndarray"


def _as_index(border: Border, index: Any) -> Any:
    if not _is_data(index):
        return index
    with _NoFunctionModes():
        host = torch.as_tensor(list(index) if isinstance(index, range) else index)
        if host.numel() == 0:
            host = host.to(torch.int64)
    return border.push(host, BY_LIST)


# --- Reading -------------------------------------------------------------------------


def _to_list(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    return func(args[0].cpu() if _is_here(args[0]) else args[0])


def _to_numpy(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    force = kwargs.get("force", False)
    if not _is_here(args[0]):
        return func(*args, **kwargs)
    if force:
        return args[0].detach().cpu().numpy()
    raise TypeError(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy "
        "the tensor to host memory first."
    )


def _to_text(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    tensor = args[0]
    if not _is_here(tensor):
        return func(*args, **kwargs)
    with _NoFunctionModes():
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
    if not _is_here(tensor):
        return func(*args, **kwargs)
    if tensor.dim() == 0:
        return format(tensor.item(), spec)
    return format(_to_text(border, Tensor.__repr__, (tensor,), {}), spec)


def _deepcopy(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    # Inside it asks for the device, and knows how to copy "meta".
    with _NoFunctionModes():
        return copy.deepcopy(args[0], *args[1:]) if _is_here(args[0]) else func(*args)


def _address(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if not _is_here(args[0]):
        return func(*args, **kwargs)
    with _NoFunctionModes():
        offset = args[0].storage_offset() * args[0].itemsize
        return id(args[0].untyped_storage()) + offset


def _refuse(what: str) -> Replacement:
    def replacement(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
        if _is_here(args[0]):
            raise DryRunError(f"{what} needs memory on a GPU, which a dry run has not")
        return func(*args, **kwargs)

    return replacement


# --- Pinned memory -------------------------------------------------------------------


def _pin(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if _is_here(args[0]):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors")
    return args[0] if is_pinned(args[0]) else mark_pinned(args[0].clone())


def _pinned(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    return not _is_here(args[0]) and is_pinned(args[0])


def _type(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs and _is_here(args[0]):
        with _NoFunctionModes():
            return (
                str(args[0].type())
                .replace("torch.", "torch.cuda.")
                .replace("cuda.meta", "cuda")
            )
    return func(*args, **kwargs)


REPLACEMENTS: dict[Any, Replacement] = {
    torch.device: _device,
    Tensor.device.__get__: _answer(CUDA),
    Tensor.is_cuda.__get__: _answer(True),
    Tensor.is_meta.__get__: _answer(False),
    Tensor.get_device: _answer(0),
    torch.get_device: _answer(0),
    Tensor.record_stream: _answer(None),
    Tensor.to: _to,
    Tensor.cuda: _cuda,
    Tensor.type: _type,
    torch.tensor: _from_data,
    torch.as_tensor: _from_data,
    torch.asarray: _from_data,
    torch.sparse_coo_tensor: _from_data,
    Tensor.new_tensor: _new_tensor,
    Tensor.__getitem__: _by_index,
    Tensor.__setitem__: _set_by_index,
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
    **LOSSES,
}


def pickling(former: Any) -> Callable[[Tensor, Any], Any]:
    """Return what pickles tensors, as for torch.save, in place of ``former``: those of
    the device are copied to the host. torch does not ask function modes for it."""

    def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
        if not _is_here(self):
            return former(self, protocol)
        host = self.detach().cpu().requires_grad_(self.requires_grad)
        with _NoFunctionModes():
            return former(host, protocol)

    return __reduce_ex__
