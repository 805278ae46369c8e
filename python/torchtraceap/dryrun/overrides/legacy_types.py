# SPDX-License-Identifier: BSD-3-Clause
"""legacy_types.py: `torch.cuda.FloatTensor` and its like, as old programs use them.

They are classes in C that a CPU build has but refuses to make tensors of; others take
their names. `tensor.type()` with them is in device/named_devices.py. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from torchtraceap.dryrun.device.devices import CUDA, is_gpu
from torchtraceap.dryrun.device.replacements import is_here
from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.without_modes import without_function_modes
from torchtraceap.errors import DryRunError


class _Type(type):
    """The class of these classes, of which no objects are made."""

    dtype: torch.dtype
    on_host: Any  #: The class of the same tensors on the host.

    def __instancecheck__(cls, instance: object) -> bool:
        with without_function_modes():
            return (
                isinstance(instance, Tensor)
                and is_here(instance)
                and instance.dtype is cls.dtype
            )

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if device is not None and not is_gpu(device):
            raise RuntimeError(
                f"legacy constructor expects device type: cuda but device type: "
                f"{torch.device(device).type} was passed"
            )
        if len(args) == 1 and isinstance(args[0], Tensor):
            if not cls.__instancecheck__(args[0]):
                raise TypeError(
                    f"expected {cls.__module__}.{cls.__name__} (got {args[0].type()})"
                )
            return args[0].view(args[0].shape)
        sizes = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args
        if all(isinstance(one, Integral) for one in sizes):
            shape = [int(one) for one in sizes] or [0]
            return torch.empty(shape, dtype=cls.dtype, device=CUDA)
        return torch.as_tensor(cls.on_host(*args), device=CUDA)


def _stand_in(former: Any, on_host: Any) -> _Type:
    known = ("dtype", "layout", "is_cuda", "is_sparse", "__doc__", "__module__")
    names = {name: getattr(former, name) for name in known}
    return _Type(former.__name__, (), {**names, "on_host": on_host})


def _set_default(former: Any) -> Any:
    def set_default_tensor_type(named: Any) -> None:
        if "torch.cuda." in (named if isinstance(named, str) else repr(named)):
            raise DryRunError(
                "torch.set_default_tensor_type cannot be run dry with a type of CUDA: "
                'write torch.set_default_device("cuda") and torch.set_default_dtype'
            )
        former(named)

    return set_default_tensor_type


@contextmanager
def installed() -> Iterator[None]:
    """Let tensors on the device be made of these types, and be told by them."""
    with Replacements() as replaced:
        names = [name for name in vars(torch.cuda) if name.endswith("Tensor")]
        types = {name: getattr(torch.cuda, name) for name in names}
        stand_ins = {n: _stand_in(t, getattr(torch, n)) for n, t in types.items()}
        for name, stand_in in stand_ins.items():
            replaced.set(torch.cuda, name, stand_in)
        replaced.set_wherever(zip(types.values(), stand_ins.values(), strict=True))
        set_default = _set_default(torch.set_default_tensor_type)
        replaced.set(torch, "set_default_tensor_type", set_default)
        yield
