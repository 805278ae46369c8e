# SPDX-License-Identifier: BSD-3-Clause
"""moved_tensors.py: moves parameters between host and device, and back in the end.

A CUDA build moves a parameter by `parameter.data =`, which keeps all that hangs on it:
attributes, hooks, class, views of the former memory. The meta device refuses that, and
`torch.utils.swap_tensors` loses it. So only what is inside the tensor is swapped here;
what was inside before is kept, with its memory and autograd's hooks. Loads torch.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import ref

from torch import Tensor, nn

from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.private_names import private

_swap_inside = private("torch._C._swap_tensor_impl")
_inside = private("torch.Tensor._cdata").__get__


class _Host(NamedTuple):
    """What a tensor was before it was moved: a tensor that has its inside now."""

    holder: Tensor
    inside: int
    kind: type[Tensor]  # Uninitialized parameters change it.


class MovedTensors:
    """The parameters that left the host, their gradients, and what else did."""

    def __init__(self) -> None:
        self.parameters: dict[nn.Parameter, _Host] = {}
        # Not held, so that gradients on the device are freed as on a GPU.
        self._gradients: dict[Tensor, tuple[ref[Tensor], _Host]] = {}
        # By `data =`: buffers, and what optimizers remember.
        self._others: dict[int, tuple[ref[Tensor], _Host]] = {}

    def exchange(self, tensor: Tensor, to: Tensor, owner: Tensor | None) -> None:
        """Swap what is inside of two tensors; remember what leaves the host.

        Args:
            tensor: What a program goes on with.
            to: Nobody else's; keeps what was inside of ``tensor``.
            owner: Whose gradient ``tensor`` is, if it is one.
        """
        kept = _Host(to, _inside(tensor), type(tensor))
        is_leaving = is_hosts(tensor) and on_device(to)
        _swap(tensor, to)
        if not is_leaving:
            return
        if isinstance(tensor, nn.Parameter):
            self.parameters.setdefault(tensor, kept)
        elif owner is not None:
            self._gradients.setdefault(owner, (ref(tensor), kept))
        else:
            known = self._others.get(id(tensor))
            if known is None or known[0]() is not tensor:
                self._others[id(tensor)] = ref(tensor), kept

    def bring_back(self, parameter: nn.Parameter) -> None:
        """Let a parameter be what it was. Doing so twice does no harm."""
        _return(parameter, self.parameters[parameter])
        self._bring_gradient_back(parameter)

    def _bring_gradient_back(self, owner: Tensor) -> None:
        if (found := self._gradients.get(owner)) is not None:
            gradient, host = found[0](), found[1]
            if gradient is None:
                gradient = host.holder
            else:
                _return(gradient, host)
            owner.grad = gradient

    def bring_others_back(self) -> None:
        """The same of what is no parameter that left, and still there."""
        for owner in self._gradients:
            if is_hosts(owner):
                self._bring_gradient_back(owner)
        for one, host in self._others.values():
            if (tensor := one()) is not None:
                _return(tensor, host)

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
