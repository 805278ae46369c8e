# SPDX-License-Identifier: BSD-3-Clause
"""lazy_modules.py: modules without shapes until their first call are so again.

What LazyLinear and its like learn in a dry run they learn of a model that comes back
to the host without it, as it was before. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

# By these a lazy module learns its shapes, and lets them be loaded; each leaves its own
# list in the module's call.
_HOOKS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_load_state_dict_pre_hooks",
)


def with_shape(tensor: Tensor) -> Tensor:
    """Return a tensor whose shape may be asked for, as that of a lazy one may not."""
    return tensor.as_subclass(Tensor) if is_lazy(tensor) else tensor


class LazyModules:
    """Those that were moved before their shapes were known."""

    def __init__(self) -> None:
        self._former: dict[nn.Module, _Former] = {}

    def keep(self, module: nn.Module) -> None:
        """Remember a module that is about to move, if it is lazy still."""
        if (
            isinstance(module, LazyModuleMixin)
            and module not in self._former
            and module.has_uninitialized_params()
        ):
            self._former[module] = _Former(module)

    def steps_back(self) -> list[Callable[[], None]]:
        """Return what is to be done in the end, each of which may be done twice."""
        return [
            partial(former.put_back, module) for module, former in self._former.items()
        ]


class _Former:
    """What a lazy module was."""

    def __init__(self, module: nn.Module) -> None:
        self._class = type(module)
        self._attributes = {
            name: value
            for name, value in vars(module).items()
            if not isinstance(value, MutableMapping) and name != "training"
        }
        self._hooks = {name: dict(vars(module)[name]) for name in _HOOKS}

    def put_back(self, module: nn.Module) -> None:
        """Undo what the first call made of the module."""
        if type(module) is self._class:
            return
        module.__class__ = self._class
        vars(module).update(self._attributes)
        for name, former in self._hooks.items():
            hooks: Any = vars(module)[name]
            now = dict(hooks)
            hooks.clear()  # Whoever registered one refers to this very object.
            hooks.update(former | now)
