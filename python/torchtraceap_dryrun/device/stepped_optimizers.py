# SPDX-License-Identifier: BSD-3-Clause
"""stepped_optimizers.py: optimizers forget what a dry run had them remember.

Moments on the device have no values, so an optimizer that a program made before could
not step afterwards. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from torchtraceap_dryrun.device.moved_tensors import is_hosts
from torchtraceap_dryrun.device.replacements import is_here
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.without_modes import (
    without_dispatch_modes,
    without_function_modes,
)


class SteppedOptimizers:
    """What optimizers were before they stepped, or loaded a state, in a run."""

    def __init__(self) -> None:
        self._former: WeakKeyDictionary[Optimizer, _Former] = WeakKeyDictionary()

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
        if optimizer not in self._former:
            with without_function_modes(), without_dispatch_modes():
                self._former[optimizer] = _Former(optimizer)

    def steps_back(self, moved: Container[Any]) -> list[Callable[[], None]]:
        """Return what is to be done in the end, each of which may be done twice; to be
        asked while parameters are where the run left them.

        Args:
            moved: The parameters that come back from the device.
        """
        return [
            partial(former.put_back, optimizer, moved)
            for optimizer, former in self._former.items()
        ]


class _Former:
    """The state of an optimizer as it was, with the values of tensors of the host,
    which it changes in place: counters of steps lie there."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._state = {
            parameter: (state, {key: _copy(value) for key, value in state.items()})
            for parameter, state in optimizer.state.items()
            if isinstance(state, dict)
        }
        self._values = [
            (tensor, tensor.detach().clone())
            for _, state in self._state.values()
            for tensor in state.values()
            if isinstance(tensor, Tensor) and is_hosts(tensor)
        ]
        self._groups = [
            {key: value for key, value in group.items() if isinstance(value, Tensor)}
            for group in optimizer.param_groups
        ]

    def put_back(self, optimizer: Optimizer, moved: Container[Any]) -> None:
        """Undo what became of parameters that were on the device: what an optimizer did
        on the host is as true as all that happens there."""
        lost = [
            parameter
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter in moved or is_here(parameter)
        ]
        restored: set[int] = set()
        for parameter in lost:
            if parameter not in self._state:
                optimizer.state.pop(parameter, None)
                continue
            state, copied = self._state[parameter]
            state.clear()
            state.update((key, _copy(value)) for key, value in copied.items())
            optimizer.state[parameter] = state
            restored.update(map(id, copied.values()))
        with torch.no_grad():
            for tensor, value in self._values:
                if id(tensor) in restored:
                    tensor.copy_(value)
        for group, tensors in zip(optimizer.param_groups, self._groups, strict=False):
            for key, value in tensors.items():
                if is_here(group.get(key)):
                    group[key] = value


def _copy(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
