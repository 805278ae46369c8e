# SPDX-License-Identifier: BSD-3-Clause
"""torch_state.py: all attributes of torch that a dry run might leave changed."""

from __future__ import annotations

import sys
import types
from typing import Any

_WATCHED = (
    "torch",
    "torch.__future__",
    "torch._C",
    "torch.accelerator",
    "torch.backends",
    "torch.distributed",
    "torch.version",
    "torch.random",
    "torch.amp",
)


def state_of_torch() -> dict[str, Any]:
    """All attributes of torch's modules, and of classes there, that are watched."""
    state = {}
    for name, module in list(sys.modules.items()):
        if name not in _WATCHED and not name.startswith(
            ("torch.cuda", "torch.backends")
        ):
            continue
        places = {name: module}
        if isinstance(getattr(module, "m", None), types.ModuleType):
            places[f"{name}.m"] = module.m
        for key, value in vars(module).items():
            if issubclass(type(value), type) and value.__module__.startswith(
                "torch.cuda"
            ):
                places[f"{name}.{key}"] = value
        for place, owner in places.items():
            state |= {f"{place}.{key}": at for key, at in vars(owner).items()}
    return state


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    missing = object()
    keys = before.keys() | after.keys()
    return sorted(
        k for k in keys if before.get(k, missing) is not after.get(k, missing)
    )
