# SPDX-License-Identifier: BSD-3-Clause
"""moved_modules.py: modules that were moved to the device, and optimizers that stepped
on it, are in the end what they were.

What is on the device has no values, so a model that a program built before, and goes on
with afterwards, would be lost: a fixture's in other tests, for example. So would an
optimizer's moments, and shapes that LazyLinear and its like learned. Loads torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from torchtraceap_dryrun.device.modes import (
    without_dispatch_modes,
    without_function_modes,
)
from torchtraceap_dryrun.device.moved_tensors import MovedTensors, is_hosts
from torchtraceap_dryrun.device.tensors import is_here
from torchtraceap_dryrun.facade.replacing import Replacements

# By these a lazy module learns its shapes, and lets them be loaded.
_LAZY_HOOKS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_load_state_dict_pre_hooks",
)


@contextmanager
def bringing_back(tensors: MovedTensors) -> Iterator[None]:
    """Give modules, and the optimizers of what is in them, their tensors of the host
    again when the block is over, with the values that they had when they left it. That
    memory is kept meanwhile; ``tensors`` has it."""
    moved = _MovedModules(tensors)
    optimizers = _SteppedOptimizers()
    replaced = Replacements()
    try:
        replaced.set(nn.Module, "_apply", moved.applying(nn.Module._apply))
        with optimizers.watching():
            yield
    finally:
        _as_one_piece(
            [
                replaced.undo,
                *optimizers.steps_back(tensors.parameters),
                *moved.steps_back(),
            ]
        )
        moved.warn()


def _as_one_piece(steps: Sequence[Callable[[], None]]) -> None:
    """Do all of that, each of which may be done twice, also when Ctrl-C interrupts; and
    be interrupted then."""
    left = list(reversed(steps))
    interruption: BaseException | None = None
    while left:
        try:
            while left:
                left[-1]()
                left.pop()
        except BaseException as error:
            if isinstance(error, Exception):
                left.pop()  # It would only fail again.
            interruption = interruption or error
    if interruption is not None:
        raise interruption


class _MovedModules:
    def __init__(self, tensors: MovedTensors) -> None:
        self.tensors = tensors
        self._lazy: dict[nn.Module, tuple[type[nn.Module], dict[str, Any]]] = {}
        # By module, list of it, and name: where others took the place of the host's.
        self._replaced: dict[tuple[nn.Module, str, str], Tensor] = {}
        self._modules: dict[nn.Module, None] = {}
        self._lost: list[str] = []

    def applying(self, apply: Any) -> Any:
        """Return the replacement of Module._apply, through which modules are moved."""

        def keeping(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            self._modules[module] = None
            with without_function_modes():
                self._keep_lazy(module)
                hosts = {
                    (module, kind, name): tensor
                    for kind in ("_parameters", "_buffers")
                    for name, tensor in vars(module)[kind].items()
                    if tensor is not None and is_hosts(tensor)
                }
            with self.tensors.moving(), _by_data():
                moved: nn.Module = apply(module, *args, **kwargs)
            for place, tensor in hosts.items():
                now = vars(module)[place[1]].get(place[2])
                if now is not tensor and is_here(now):
                    self._replaced.setdefault(place, tensor)
            return moved

        return keeping

    def steps_back(self) -> list[Any]:
        """Return what is to be done in the end, each of which may be done twice."""
        steps: list[Any] = [
            partial(self._bring_back, parameter)
            for parameter in self.tensors.parameters
        ]
        for place, tensor in self._replaced.items():
            steps.append(partial(_set_again, *place, tensor))
        return [*steps, self._make_lazy]

    def _keep_lazy(self, module: nn.Module) -> None:
        is_lazy = isinstance(module, LazyModuleMixin)
        if is_lazy and module not in self._lazy and module.has_uninitialized_params():
            self._lazy[module] = (
                type(module),
                {
                    name: dict(value) if name in _LAZY_HOOKS else value
                    for name, value in vars(module).items()
                    if name in _LAZY_HOOKS or not isinstance(value, dict | bool)
                },
            )

    def _make_lazy(self) -> None:
        """Undo what their first call made of lazy modules."""
        for module, (kind, former) in self._lazy.items():
            if type(module) is not kind:
                module.__class__ = kind
                for name in _LAZY_HOOKS:  # Handles of hooks refer to this list.
                    vars(module)[name].update(former[name])
                rest = {k: v for k, v in former.items() if k not in _LAZY_HOOKS}
                vars(module).update(rest)

    def _bring_back(self, parameter: nn.Parameter) -> None:
        try:
            self.tensors.bring_back(parameter)
        except Exception:  # Somebody in C++ holds a weak reference to it.
            host = self.tensors.copy_of(parameter)
            for module in self._modules:
                for name, one in module._parameters.items():
                    if one is parameter:
                        module._parameters[name] = host
                        self._lost.append(f"{type(module).__name__}.{name}")
                if isinstance(module, nn.RNNBase):
                    module._init_flat_weights()

    def warn(self) -> None:
        """Say which parameters are others than before."""
        if self._lost:
            warnings.warn(
                f"after the dry run {', '.join(self._lost)} is a new parameter with the"
                " former values, as torch could not bring back the one that was moved; "
                "an optimizer made before does not have it",
                UserWarning,
                stacklevel=2,
            )


@contextmanager
def _by_data() -> Iterator[None]:
    """Let modules move by `data =`, also where the program asks for `swap_tensors`:
    parameters stay the same objects by both, and these come back."""
    former = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(False)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(former)


def _set_again(module: nn.Module, kind: str, name: str, tensor: Tensor) -> None:
    if vars(module)[kind].get(name) is not None:
        vars(module)[kind][name] = tensor


class _SteppedOptimizers:
    """What optimizers were before they stepped, or loaded a state, in a run."""

    def __init__(self) -> None:
        # Their state, and what in their groups is a tensor.
        self._former: WeakKeyDictionary[Optimizer, tuple[Any, Any]] = (
            WeakKeyDictionary()
        )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at all optimizers in this block."""
        load = Optimizer.load_state_dict

        def load_kept(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            self._keep(optimizer)
            return load(optimizer, *args, **kwargs)

        hook = register_optimizer_step_pre_hook(self._keep)
        try:
            with Replacements() as replaced:
                replaced.set(Optimizer, "load_state_dict", load_kept)
                yield
        finally:
            hook.remove()

    def _keep(self, optimizer: Optimizer, *_: Any) -> None:
        if optimizer in self._former:
            return
        with without_function_modes(), without_dispatch_modes():
            state = {one: deepcopy(kept) for one, kept in optimizer.state.items()}
        groups = [
            {key: value for key, value in group.items() if isinstance(value, Tensor)}
            for group in optimizer.param_groups
        ]
        self._former[optimizer] = state, groups

    def steps_back(self, moved: Container[Any]) -> list[Callable[[], None]]:
        """Return what is to be done in the end, each of which may be done twice; to be
        asked while parameters are where the run left them."""
        return [partial(self._put_back, one, moved) for one in self._former]

    def _put_back(self, optimizer: Optimizer, moved: Container[Any]) -> None:
        """Undo what became of parameters that were on the device: what an optimizer did
        on the host is as true as all that happens there."""
        state, groups = self._former[optimizer]
        for group, tensors in zip(optimizer.param_groups, groups, strict=False):
            for one in group["params"]:
                if one in moved or is_here(one):
                    optimizer.state.pop(one, None)
                    if one in state:
                        optimizer.state[one] = state[one]
            group |= {k: v for k, v in tensors.items() if is_here(group.get(k))}
