# SPDX-License-Identifier: BSD-3-Clause
"""moved_tensors.py: moves parameters between host and device, and back in the end.

A CUDA build moves a module's parameters by `parameter.data =`, which keeps all that
hangs on them: attributes, hooks, class, views of the former memory. The meta device
refuses that, and `torch.utils.swap_tensors` loses it. So only what is inside the tensor
is swapped here; what was inside before is kept, with its memory, gradient and hooks of
autograd. A program's own `data =` across devices is refused. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.replacements import FunctionTable, is_here
from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.without_modes import (
    without_dispatch_modes,
    without_function_modes,
)

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.border import Border

_swap_inside = private("torch._C._swap_tensor_impl")
_inside = private("torch.Tensor._cdata").__get__


class _Host(NamedTuple):
    """What a tensor was before it was moved: a tensor that has its inside now."""

    holder: Tensor
    inside: int
    kind: type[Tensor]  # Uninitialized parameters change it.


class MovedTensors:
    """The parameters that left the host."""

    def __init__(self) -> None:
        self.parameters: dict[nn.Parameter, _Host] = {}
        #: Whether a module is being moved now.
        self.is_moving = False

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Let a module move its parameters in this block."""
        former, self.is_moving = self.is_moving, True
        try:
            yield
        finally:
            self.is_moving = former

    def move(self, parameter: nn.Parameter, to: Tensor) -> None:
        """Swap what is inside of a parameter; remember what leaves the host."""
        with without_dispatch_modes():  # They would see a detach.
            holder = to.data
        holder.requires_grad = parameter.requires_grad
        kept = _Host(holder, _inside(parameter), type(parameter))
        is_leaving = is_hosts(parameter)
        _swap(parameter, holder)
        if is_leaving:
            self.parameters.setdefault(parameter, kept)

    def bring_back(self, parameter: nn.Parameter) -> None:
        """Let a parameter be what it was. Doing so twice does no harm."""
        _return(parameter, self.parameters[parameter])

    def copy_of(self, parameter: nn.Parameter) -> nn.Parameter:
        """Return another one that is what it was."""
        holder = self.parameters[parameter].holder
        holder.__class__ = type(parameter)
        holder.__dict__.update(parameter.__dict__)
        assert isinstance(holder, nn.Parameter)
        return holder


def is_hosts(tensor: Tensor) -> bool:
    """Tell whether a tensor is on the host."""
    return bool(tensor.device.type == "cpu")


def _return(tensor: Tensor, host: _Host) -> None:
    if _inside(tensor) != host.inside:
        _swap(tensor, host.holder)
        if type(tensor) is not host.kind:
            tensor.__class__ = host.kind


def _swap(tensor: Tensor, other: Tensor) -> None:
    _swap_inside(tensor, other)
    # Autograd's part of the hooks is inside; their list is not, and makes it anew.
    for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        if (registered := getattr(tensor, hooks)) is not None:
            setattr(tensor, hooks, registered)


def _crosses(tensor: Tensor, to: Tensor) -> bool:
    return isinstance(to, Tensor) and is_here(tensor) != is_here(to)


def _moves(border: Border, tensor: Tensor, to: Tensor) -> bool:
    """Tell whether a module moves a parameter between host and device."""
    return (
        border.moved.is_moving
        and isinstance(tensor, nn.Parameter)
        and _crosses(tensor, to)
        and (is_hosts(tensor) or is_hosts(to))
    )


def _is_assignable(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    """Tell modules that are moved to do so by `data =`, as on CUDA."""
    with without_function_modes():
        return _moves(border, *args) or (not _crosses(*args) and func(*args))


def _set_data(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    tensor, to = args
    with without_function_modes():
        if not _crosses(tensor, to):
            return func(*args)
        if not _moves(border, tensor, to):
            raise DryRunError(
                "`.data =` across devices cannot be run dry: write "
                'model.to("cuda"), or assign the moved tensor to the name'
            )
        border.moved.move(tensor, to)


def _get_data(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    """`tensor.data`, which is no operator; to a mode it looks like detach()."""
    if not is_here(args[0]):
        return func(*args)
    with without_dispatch_modes():
        return func(*args)


TENSOR_DATA: FunctionTable = {
    torch._has_compatible_shallow_copy_type: _is_assignable,
    Tensor.data.__get__: _get_data,
    Tensor.data.__set__: _set_data,
}
