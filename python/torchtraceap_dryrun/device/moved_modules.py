# SPDX-License-Identifier: BSD-3-Clause
"""moved_modules.py: modules that were moved to the device come back in the end.

What is on the device has no values, so a model that a program built before, and goes on
with afterwards, would be lost: a fixture's in other tests, for example. Loads torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from torchtraceap_dryrun.device.lazy_modules import LazyModules
from torchtraceap_dryrun.device.moved_tensors import MovedTensors, is_hosts
from torchtraceap_dryrun.device.replacements import is_here
from torchtraceap_dryrun.device.stepped_optimizers import SteppedOptimizers
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.without_modes import without_function_modes


@contextmanager
def bringing_back(tensors: MovedTensors) -> Iterator[None]:
    """Give modules, and the optimizers of what is in them, their tensors of the host
    again when the block is over, with the values that they had when they left it. That
    memory is kept meanwhile; ``tensors`` has it."""
    moved = _MovedModules(tensors)
    optimizers = SteppedOptimizers()
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
                *moved.lazy.steps_back(),
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
        self.lazy = LazyModules()
        # By module, list of it, and name: where others took the place of the host's.
        self._replaced: dict[tuple[nn.Module, str, str], Tensor] = {}
        self._modules: dict[nn.Module, None] = {}
        self._lost: list[str] = []

    def applying(self, apply: Any) -> Any:
        """Return what stands for Module._apply, through which modules are moved."""

        def keeping(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            return move(module, *args, **kwargs)

        def move(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            self._modules[module] = None
            with without_function_modes():
                self.lazy.keep(module)
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
            steps.append(partial(_put_back, *place, tensor))
        return steps

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


def _put_back(module: nn.Module, kind: str, name: str, tensor: Tensor) -> None:
    if vars(module)[kind].get(name) is not None:
        vars(module)[kind][name] = tensor
