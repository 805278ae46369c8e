# SPDX-License-Identifier: BSD-3-Clause
"""named_devices.py: "cuda" as an argument: tensors that are made or moved there.

Loads torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchtraceap.waits.table import OF_DATA
from torchtraceap_dryrun.device.copies import to_device
from torchtraceap_dryrun.device.modes import (
    without_dispatch_modes,
    without_function_modes,
)
from torchtraceap_dryrun.device.refused_tensors import no_sparse
from torchtraceap_dryrun.device.run import FunctionTable, Run
from torchtraceap_dryrun.device.tensors import CUDA, DEVICE, is_gpu, is_here, names_meta
from torchtraceap_dryrun.device.users_meta import (
    default_device,
    means_meta,
    refuse_from_meta,
)
from torchtraceap_dryrun.facade.stand_in_classes import LegacyType

_CPU = torch.device("cpu")


def _device(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    """torch.device(0): the first GPU."""
    if len(args) == 1 and type(args[0]) is int and not kwargs and is_gpu(args[0]):
        return CUDA
    return func(*args, **kwargs)


def _to(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    for named in (*args[1:2], kwargs.get("device"), kwargs.get("other")):
        if means_meta(named):
            return run.users_meta.to_meta(func, args, kwargs)
        refuse_from_meta(args[0], named)
    rest = [DEVICE if is_gpu(a) else a for a in args[1:]]
    if is_gpu(kwargs.get("device")):
        kwargs = {**kwargs, "device": DEVICE}
    return func(args[0], *rest, **kwargs)


def _cuda(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    names = ("device", "non_blocking", "memory_format")
    given = {**dict(zip(names, args[1:], strict=False)), **kwargs}
    device = given.pop("device", None)
    if device is not None and not is_gpu(device):
        raise ValueError(f"Invalid device, must be cuda device (got {device})")
    refuse_from_meta(args[0], CUDA)
    return args[0].to(DEVICE, **given)


def _where(kwargs: Any) -> Any:
    """Return the device that is named, where 0 is one, else the default one."""
    device = kwargs.get("device")
    return default_device() if device is None else device


def _from_data(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    """torch.tensor(data, device=) and its like: made on the host, then copied."""
    device = _where(kwargs)
    if names_meta(device):
        return run.users_meta.of_data(func, args, kwargs)
    args = (*map(_read, args[:1]), *args[1:])
    if not is_gpu(device) or is_here(args[0] if args else kwargs.get("data")):
        if is_gpu(kwargs.get("device")):
            kwargs = {**kwargs, "device": DEVICE}
        return func(*args, **kwargs)
    grad = kwargs.get("requires_grad", False)
    kwargs = {k: v for k, v in kwargs.items() if k != "requires_grad"}
    with without_function_modes():
        host = func(*args, **{**kwargs, "device": _CPU})
    out = to_device(run, host, OF_DATA)
    return out.requires_grad_() if grad else out


def _sparse(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    device = _where(kwargs)
    on_gpu = is_gpu(device) and not names_meta(device)
    if on_gpu or any(map(is_here, args[:2])):
        raise no_sparse()
    return func(*args, **kwargs)


def _read(data: Any) -> Any:
    """Read the values of tensors among lists, one by one, as torch does."""
    if not isinstance(data, list | tuple):
        return data
    return [one.item() if is_here(one) else _read(one) for one in data]


def _new_tensor(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    device = kwargs.get("device")
    if device is None and is_here(args[0]):
        device = CUDA
    if names_meta(device) or (device is None and means_meta(args[0])):
        return run.users_meta.of_data(func, args, kwargs)
    if not is_gpu(device):
        return func(*args, **kwargs)
    rest = {k: v for k, v in kwargs.items() if k != "device"}
    rest.setdefault("dtype", args[0].dtype)
    data = args[1] if len(args) > 1 else rest.pop("data")
    if isinstance(data, Tensor):
        return data.detach().to(DEVICE, rest["dtype"])
    return _from_data(run, torch.tensor, (data,), {**rest, "device": CUDA})


def _new(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    """The former way to make a tensor like another: x.new(2, 3), x.new([1, 2])."""
    if means_meta(args[0]):
        return run.users_meta.of_data(func, args, kwargs)
    made_of = args[1] if len(args) > 1 else kwargs.get("data", ())
    is_data = isinstance(made_of, list | tuple) and not isinstance(made_of, torch.Size)
    if not is_here(args[0]) or not (is_data or hasattr(made_of, "__array_interface__")):
        return func(*args, **kwargs)
    with without_function_modes(), without_dispatch_modes():
        host = torch.empty(0, dtype=args[0].dtype).new(made_of)
    return to_device(run, host, OF_DATA)


def _type(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs and is_here(args[0]):
        with without_function_modes():
            return (
                str(args[0].type())
                .replace("torch.", "torch.cuda.")
                .replace("cuda.meta", "cuda")
            )
    named = args[1] if len(args) > 1 else kwargs.get("dtype")
    if getattr(named, "is_cuda", False):
        LegacyType.refused()
    if not isinstance(named, str) or not named.startswith("torch.cuda."):
        return func(*args, **kwargs)
    if named.startswith("torch.cuda.sparse."):
        raise no_sparse()
    kind = getattr(torch, named.removeprefix("torch.cuda."), None)
    if kind is None:
        raise ValueError(f"invalid type: '{named}'")
    waits = {k: v for k, v in kwargs.items() if k == "non_blocking"}
    return _to(run, Tensor.to, (args[0], CUDA, kind.dtype, *args[2:3]), waits)


NAMED_DEVICES: FunctionTable = {
    torch.device: _device,
    Tensor.to: _to,
    Tensor.cuda: _cuda,
    Tensor.type: _type,
    torch.tensor: _from_data,
    torch.as_tensor: _from_data,
    torch.asarray: _from_data,
    torch.sparse_coo_tensor: _sparse,
    Tensor.new_tensor: _new_tensor,
    Tensor.new: _new,
}
