# SPDX-License-Identifier: BSD-3-Clause
"""functions.py: functions of torch that behave differently for tensors on the device:
their attributes, and indices and losses with another code path. Loads torch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from torchtraceap.base.errors import DryRunError
from torchtraceap.waits.table import BY_LIST, PRINT
from torchtraceap_dryrun.device.copies import to_device
from torchtraceap_dryrun.device.modes import without_function_modes
from torchtraceap_dryrun.device.run import FunctionTable, Handler, Run
from torchtraceap_dryrun.device.tensors import (
    CUDA,
    is_here,
    is_pinned,
    mark_pinned,
    mark_saved,
)
from torchtraceap_dryrun.private_names import private


def _of_device(handle: Handler) -> Handler:
    """Return what asks ``handle`` for tensors on the device, and torch for others."""

    def replacement(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
        if is_here(args[0]):
            return handle(run, func, args, kwargs)
        return func(*args, **kwargs)

    return replacement


def _answer(value: Any) -> Handler:
    return _of_device(lambda *_: value)


@_of_device
def _to_list(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    return func(args[0].cpu())


@_of_device
def _to_numpy(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("force", False):
        return args[0].detach().cpu().numpy()
    raise TypeError(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy "
        "the tensor to host memory first."
    )


@_of_device
def _to_text(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    tensor = args[0]
    with without_function_modes():
        values, known = run.values.read(tensor.detach())
        run.emit(torch.ops.aten._to_copy.default, (tensor,), {}, [])
        run.recorder.sync(PRINT, "seen", "known" if known else "guessed")
        text = private("torch._tensor_str._str")(
            values.requires_grad_(tensor.requires_grad and values.is_floating_point())
        )
    inner, _, _ = text.rpartition(")")
    return f"{inner}, device='cuda:0')"


@_of_device
def _format(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    tensor, spec = args[0], args[1] if len(args) > 1 else ""
    if tensor.dim() == 0:
        return format(tensor.item(), spec)
    return format(_to_text(run, Tensor.__repr__, (tensor,), {}), spec)


@_of_device
def _deepcopy(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    # Inside it asks for the device, and knows how to copy "meta".
    with without_function_modes():
        return copy.deepcopy(*args)


@_of_device
def _address(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    with without_function_modes():
        offset = args[0].storage_offset() * args[0].itemsize
        return id(args[0].untyped_storage()) + offset


def _refuse(what: str) -> Handler:
    @_of_device
    def refused(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
        missing = "memory on a GPU, which a dry run does not have"
        raise DryRunError(f"{what} needs {missing}")

    return refused


def _pin(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    if is_here(args[0]):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors")
    return args[0] if is_pinned(args[0]) else mark_pinned(args[0].clone())


def _pinned(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    return not is_here(args[0]) and is_pinned(args[0])


def pickling(
    former: Any, seen: Callable[[Tensor], None]
) -> Callable[[Tensor, Any], Any]:
    """Return a function that pickles tensors, as for torch.save, to replace ``former``:
    those of the device are copied to the host. torch does not call function modes for
    it. ``seen`` is called with each."""

    def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
        seen(self)
        if not is_here(self):
            return former(self, protocol)
        host = self.detach().cpu().requires_grad_(self.requires_grad)
        with without_function_modes():
            mark_saved(host)
            return former(host, protocol)

    return __reduce_ex__


# Until 2.13 a number that is put into a CUDA tensor becomes a tensor of the host first.
_NUMBERS_ARE_TENSORS = torch.__version__ < (2, 14)


@_of_device
def _by_index(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    index = args[1]
    whole = index if isinstance(index, tuple) else (index,)
    if any(map(_is_data, whole)):
        moved = tuple(_as_index(run, one) for one in whole)
        args = (args[0], moved if isinstance(index, tuple) else moved[0], *args[2:])
    return func(*args, **kwargs)


@_of_device
def _set_by_index(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    is_number = len(args) > 2 and isinstance(args[2], bool | int | float | complex)
    if _NUMBERS_ARE_TENSORS and is_number:
        with without_function_modes():
            number = torch.scalar_tensor(args[2], dtype=args[0].dtype)
        args = (*args[:2], number)
    return _by_index(run, func, args, kwargs)


def _is_data(index: Any) -> bool:
    if isinstance(index, list | range):
        return not any(isinstance(one, slice | Tensor) or one is None for one in index)
    return type(index).__name__ == "ndarray"


def _as_index(run: Run, index: Any) -> Any:
    if not _is_data(index):
        return index
    with without_function_modes():
        host = torch.as_tensor(list(index) if isinstance(index, range) else index)
        if host.numel() == 0:
            host = host.to(torch.int64)
    return to_device(run, host, BY_LIST)


_CROSS_ENTROPY = (
    *("input", "target", "weight", "size_average", "ignore_index", "reduce"),
    *("reduction", "label_smoothing"),
)
_LENGTHS = ("log_probs", "targets", "input_lengths", "target_lengths")


def _cross_entropy(
    run: Run, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """With weights and label_smoothing, targets that do not count are left out by a
    masked_select where tensors have values, and without one on meta."""
    given = {**dict(zip(_CROSS_ENTROPY, args, strict=False)), **kwargs}
    out = func(*args, **kwargs)
    both = given.get("weight") is not None and given.get("label_smoothing", 0.0) > 0
    classes = not given["target"].is_floating_point()
    mean = given.get("reduction", "mean") == "mean"
    if both and classes and mean and is_here(given["input"]):
        run.recorder.sync("aten::cross_entropy_loss", "table")
    return out


def _ctc_loss(run: Run, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The kernel wants lengths of the host, as numbers: those on the device are copied
    back. On meta it would take them as tensors."""
    given = {**dict(zip(_LENGTHS, args, strict=False)), **kwargs}
    rest = args[len(_LENGTHS) :]
    if is_here(given["log_probs"]):
        for name in _LENGTHS[2:]:
            if isinstance(given[name], Tensor):
                given[name] = given[name].cpu().tolist()
    first = [given.pop(name) for name in _LENGTHS]
    kwargs = {key: value for key, value in given.items() if key in kwargs}
    return func(*first, *rest, **kwargs)


FUNCTIONS: FunctionTable = {
    Tensor.device.__get__: _answer(CUDA),
    Tensor.is_cuda.__get__: _answer(True),
    Tensor.is_meta.__get__: _answer(False),
    Tensor.get_device: _answer(0),
    torch.get_device: _answer(0),
    Tensor.record_stream: _answer(None),
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
    Tensor.__getitem__: _by_index,
    Tensor.__setitem__: _set_by_index,
    functional.cross_entropy: _cross_entropy,
    functional.ctc_loss: _ctc_loss,
    torch.ctc_loss: _ctc_loss,
}
