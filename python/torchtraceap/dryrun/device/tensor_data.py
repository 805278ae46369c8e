# SPDX-License-Identifier: BSD-3-Clause
"""tensor_data.py: `tensor.data =` with what lies on the other side of the border.

CUDA builds let it move a tensor between host and device; the meta device refuses that.
So what is inside of the tensor is swapped for it, which is what is seen of `data =`.
Like there, a gradient stays where it is until it is moved as well. Loads torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from torchtraceap.dryrun.device.devices import DEVICE
from torchtraceap.dryrun.device.memory import is_users
from torchtraceap.dryrun.device.refused_tensors import two_devices
from torchtraceap.dryrun.device.replacements import FunctionTable, is_here
from torchtraceap.dryrun.without_modes import (
    without_dispatch_modes,
    without_function_modes,
)
from torchtraceap.errors import DryRunError

if TYPE_CHECKING:
    from torchtraceap.dryrun.device.border import Border

_INCOMPATIBLE = (
    "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
    "incompatible tensor type."
)


class ApartGradients:
    """Gradients that are not where their tensors are: torch keeps no such pair."""

    def __init__(self) -> None:
        # Of each tensor by its id: it, which keeps the id its own, and its gradient.
        self._apart: dict[int, tuple[Tensor, Tensor]] = {}
        # The tensor of each such gradient, by the id of that.
        self._owners: dict[int, Tensor] = {}
        # The tensor whose gradient was asked for last: `p.grad.data =` is of that.
        self._last: ref[Tensor] | None = None

    def get(self, tensor: Tensor, found: Tensor | None) -> Tensor | None:
        """Return the gradient of a tensor, of which torch has ``found``."""
        pair = self._apart.get(id(tensor)) if self._apart else None
        if pair is None:
            if found is not None:
                last = self._last
                if last is None or last() is not tensor:
                    self._last = ref(tensor)
            return found
        apart = pair[1]
        if found is None:
            return apart
        with without_function_modes():
            if _together(apart, found):
                return apart
        raise two_devices(
            "cpu", "gradients were added to one that was not moved with its parameter"
        )

    def forget(self, tensor: Tensor) -> None:
        """Say that a tensor was given another gradient."""
        if self._apart:
            self._forget(tensor)

    def _forget(self, tensor: Tensor) -> None:
        pair = self._apart.pop(id(tensor), None)
        if pair is not None:
            self._owners.pop(id(pair[1]), None)

    def owner(self, gradient: Tensor) -> Tensor | None:
        """Return the tensor that this is known to be the gradient of."""
        owner = self._owners.get(id(gradient))
        if owner is None and self._last is not None:
            last = self._last()
            if last is not None and last.grad is gradient:
                owner = last
        return owner

    def join(self, tensor: Tensor, gradient: Tensor | None) -> None:
        """Say that this is the gradient of a tensor, and one of them was moved."""
        if gradient is None:
            return
        self._forget(tensor)
        if _together(tensor, gradient):
            tensor.grad = gradient
        else:
            tensor.grad = None
            self._apart[id(tensor)] = tensor, gradient
            self._owners[id(gradient)] = tensor


def _together(one: Tensor, other: Tensor) -> bool:
    return bool(one.device.type == other.device.type) and is_users(one) == is_users(
        other
    )


def _cross(one: Tensor, other: Tensor) -> bool:
    """Tell whether one lies on the device and one on the host."""
    types = {one.device.type, other.device.type}
    return types == {"cpu", DEVICE.type} and not any(map(is_users, (one, other)))


def _set_data(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    tensor, to = args
    with without_function_modes():
        if (
            not isinstance(to, Tensor)
            or not _cross(tensor, to)
            or any(map(is_traceable_wrapper_subclass, args))
        ):
            if any(map(is_users, args)) and not _together(*args):
                raise RuntimeError(_INCOMPATIBLE)
            return func(*args)
        gradients = border.gradients
        owner = gradients.owner(tensor)
        gradient = gradients.get(tensor, tensor.grad) if tensor.is_leaf else None
        # Besides Python: what keeps it for backward, views of it, one it is of.
        held = tensor._use_count() > 1 and not isinstance(tensor, nn.Parameter)
        if not tensor.is_leaf or (held and owner is None):
            raise DryRunError(
                "`.data =` between host and device cannot be run dry for a tensor that "
                "autograd made or keeps, or that has views: assign the moved tensor to "
                "the name instead. Of a gradient, write `p.grad.data =`"
            )
        with without_dispatch_modes():  # They would see a detach.
            new = to.data
        new.requires_grad = tensor.requires_grad
        border.moved.exchange(tensor, new, owner)
        gradients.join(tensor, gradient)
        if owner is not None:
            gradients.join(owner, tensor)


def _get_data(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    """`tensor.data`, which is no operator; to a mode it looks like detach()."""
    if not is_here(args[0]):
        return func(*args)
    with without_dispatch_modes():
        return func(*args)


def _is_assignable(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    """Tell modules that are moved to do so by `data =`, as on CUDA."""
    if any(map(is_traceable_wrapper_subclass, args)):
        return func(*args)
    with without_function_modes():
        if _cross(*args):
            return True
        return _together(*args) and func(*args)


def _get_grad(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    found = func(*args)
    return border.gradients.get(args[0], found)


def _set_grad(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    func(*args)
    border.gradients.forget(args[0])


TENSOR_DATA: FunctionTable = {
    torch._has_compatible_shallow_copy_type: _is_assignable,
    Tensor.data.__get__: _get_data,
    Tensor.data.__set__: _set_data,
    Tensor.grad.__get__: _get_grad,
    Tensor.grad.__set__: _set_grad,
    Tensor.grad.__delete__: _set_grad,
}
