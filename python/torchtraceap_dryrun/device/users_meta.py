# SPDX-License-Identifier: BSD-3-Clause
"""users_meta.py: tensors that a program has on "meta" itself, beside those of the run.

Both are "meta" to torch. The mode that sees functions knows which is asked for: by the
device that is named, else by the tensors that are given; this is remembered while the
function runs. Tensors made meanwhile get no Memory, which identifies them. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.arguments import tensors_in
from torchtraceap_dryrun.device.modes import function_modes, without_function_modes
from torchtraceap_dryrun.device.refused_tensors import two_devices
from torchtraceap_dryrun.device.tensors import (
    DEVICE,
    is_gpu,
    is_here,
    is_users,
    names_meta,
    on_device,
)
from torchtraceap_dryrun.private_names import private

_DeviceContext = private("torch.utils._device.DeviceContext")
_makers = private("torch.utils._device._device_constructors")

_NO_DATA = "Cannot copy out of meta tensor; no data!"


class UsersMeta:
    """What of "meta" is the program's own, in one run."""

    def __init__(self) -> None:
        #: Whether "meta" is what it says, in the function of torch that is running.
        self.asked = False
        # Whether there are any, as far as was seen: to look at all lists takes time.
        self._some = False

    def asked_by(self, func: Any, args: Any, kwargs: Any) -> bool | None:
        """Tell whether a function, as it is called, is to make tensors on "meta"
        itself; None: it does not say."""
        named = kwargs.get("device")
        if named is None and _makes(func):
            named = default_device()
        if named is not None:
            return names_meta(named)
        with without_function_modes():
            given = [*args, *kwargs.values()]
            if self._some:
                given = list(tensors_in(given))
            asked = None
            for tensor in given:
                if isinstance(tensor, Tensor) and on_device(tensor):
                    if not is_users(tensor):
                        return False
                    asked = self._some = True
            return asked

    @contextmanager
    def asking(self, asked: bool) -> Iterator[None]:
        """Be in a function that does, or does not."""
        former, self.asked = self.asked, asked
        try:
            yield
        finally:
            self.asked = former

    def to_meta(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        """Answer `tensor.to("meta")`, of which torch would say that it is there."""
        tensor = args[0]
        with self.asking(True):
            with without_function_modes():
                if is_here(tensor):
                    layout = tensor.shape, tensor.stride()
                    tensor = torch.empty_strided(
                        *layout,
                        dtype=tensor.dtype,
                        device=DEVICE,
                        requires_grad=tensor.requires_grad,
                    )
            return func(tensor, *args[1:], **kwargs)

    def of_data(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        """Answer `torch.tensor(..., device="meta")` and its like, which are made where
        no mode sees it."""
        given = args[0] if args else kwargs.get("data")
        if isinstance(given, Tensor) and func not in (Tensor.new_tensor, Tensor.new):
            rest = {k: v for k, v in kwargs.items() if k in ("device", "dtype")}
            return self.to_meta(Tensor.to, (given,), rest)
        return func(*args, **kwargs)

    def takes(self, func: Any, tensors: Sequence[Tensor], kwargs: Any) -> bool:
        """Tell whether an operator is none of the device's.

        Raises:
            RuntimeError: It takes tensors of both.
            NotImplementedError: It copies values, of which there are none.
        """
        device = kwargs.get("device")
        if names_meta(device) and self.asked:
            self._some = True
            return True
        users = [is_users(tensor) for tensor in tensors]
        if not any(users):
            return False
        self._some = True
        name = func._schema.name
        if is_gpu(device):
            if name == "aten::_to_copy":
                raise NotImplementedError(_NO_DATA)
            return False  # empty_like(..., device="cuda")
        if any(on_device(t) and not his for t, his in zip(tensors, users, strict=True)):
            if name == "aten::copy_" and users[1]:
                raise NotImplementedError(_NO_DATA)
            if name not in ("aten::copy_", "aten::set_"):
                raise two_devices("meta", name)
        return True


def _makes(func: Any) -> bool:
    """Tell whether a function makes tensors on a given device."""
    try:
        return func in _makers()
    except TypeError:  # not hashable
        return False


def default_device() -> Any:
    """Return the device that the modes that will be asked give to new tensors."""
    # torch.get_default_device would make a tensor there to find out.
    for mode in reversed(function_modes()):
        if isinstance(mode, _DeviceContext):
            return mode.device
    return None


def means_meta(value: Any) -> bool:
    """Tell whether an argument of `tensor.to()` says "meta" itself."""
    with without_function_modes():
        return is_users(value) if isinstance(value, Tensor) else names_meta(value)


def refuse_from_meta(tensor: Tensor, to: Any) -> None:
    """Raise NotImplementedError if values that there are not are asked for on a GPU, by
    its name or another tensor there."""
    with without_function_modes():
        if is_users(tensor) and (is_here(to) or is_gpu(to)):
            raise NotImplementedError(_NO_DATA)
