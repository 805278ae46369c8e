# SPDX-License-Identifier: BSD-3-Clause
"""moved_tensors.py: moves parameters between host and device, and back in the end.

A CUDA build moves a module's parameters by `parameter.data =`, which keeps everything
attached to them: attributes, hooks, class, views of the former memory. The meta device
refuses that, and `torch.utils.swap_tensors` loses it. So only the inside of the tensor
is swapped here; the former inside is kept, with its memory, gradient and autograd
hooks. A program's own `data =` across devices is refused. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.modes import (
    without_dispatch_modes,
    without_function_modes,
)
from torchtraceap_dryrun.device.run import FunctionTable, Run
from torchtraceap_dryrun.device.tensors import is_here
from torchtraceap_dryrun.private_names import private

_swap_inside = private("torch._C._swap_tensor_impl")
_inside = private("torch.Tensor._cdata").__get__


_NOT_SWAPPED = (
    "a module that was moved got new parameters, as something in C++ refers to the "
    "former ones, such as a profiler that is not gone: an optimizer made before that "
    "does not have them"
)


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
        host = self.parameters[parameter]
        if _inside(parameter) != host.inside:
            _swap(parameter, host.holder)
            if type(parameter) is not host.kind:
                parameter.__class__ = host.kind

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


def _swap(tensor: Tensor, other: Tensor) -> None:
    _swap_inside(tensor, other)
    # Autograd's part of the hooks is inside; their list is not, and recreates it.
    for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        if (registered := getattr(tensor, hooks)) is not None:
            setattr(tensor, hooks, registered)


def _is_swappable(tensor: Tensor) -> bool:
    """Tell whether no weak reference of C++ keeps what is inside of a tensor there."""
    with without_dispatch_modes():
        other = torch.empty(0)
    try:
        _swap_inside(tensor, other)
    except RuntimeError:
        return False
    _swap_inside(tensor, other)
    return True


def _crosses(tensor: Tensor, to: Tensor) -> bool:
    return isinstance(to, Tensor) and is_here(tensor) != is_here(to)


def data_functions(moved: MovedTensors) -> FunctionTable:
    """Return what stands in for `tensor.data`, where modules move their parameters."""

    def moves(tensor: Tensor, to: Tensor) -> bool:
        return (
            moved.is_moving
            and isinstance(tensor, nn.Parameter)
            and _crosses(tensor, to)
            and (is_hosts(tensor) or is_hosts(to))
        )

    def is_assignable(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
        """Tell modules that are moved to do so by `data =`, as on CUDA; where that
        cannot be, they make new parameters, which are replaced in the end."""
        with without_function_modes():
            if not moves(*args):
                return not _crosses(*args) and func(*args)
            if _is_swappable(args[0]):
                return True
            run.recorder.note(_NOT_SWAPPED)
            return False

    def set_data(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, to = args
        with without_function_modes():
            if not _crosses(tensor, to):
                return func(*args)
            if not moves(tensor, to):
                raise DryRunError(
                    "`.data =` across devices cannot be run dry: write "
                    'model.to("cuda"), or assign the moved tensor to the name'
                )
            moved.move(tensor, to)

    def get_data(run: Run, func: Any, args: Any, kwargs: Any) -> Any:
        """`tensor.data`, which is not an operator; to a mode it looks like detach()."""
        with without_dispatch_modes() if is_here(args[0]) else nullcontext():
            return func(*args)

    return {
        torch._has_compatible_shallow_copy_type: is_assignable,
        Tensor.data.__get__: get_data,
        Tensor.data.__set__: set_data,
    }
