# SPDX-License-Identifier: BSD-3-Clause
"""memory.py: what is kept with each storage on the device. Loads torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, UntypedStorage

#: The attribute of storages that has their Memory.
KEY = "_torchtraceap"


@dataclass(slots=True)
class Memory:
    """What a dry run knows of a storage on the device."""

    nbytes: int
    shadow: UntypedStorage | None = None
    known: bool = True
    #: Of masks without values: how many elements were said to be true.
    counts: dict[Any, int] = field(default_factory=dict)


def memory_of(tensor: Tensor) -> Memory | None:
    """Return what is known of a tensor's storage; None if it was not met before, or has
    none because it is sparse."""
    if tensor.layout != torch.strided:
        return None
    found: Memory | None = getattr(tensor.untyped_storage(), KEY, None)
    return found


def is_users(tensor: Tensor) -> bool:
    """Tell whether a program has a tensor on "meta" itself: each of the device has its
    Memory from the operator that made it. Not to be asked under a function mode."""
    if tensor.device.type != "meta" or tensor.layout != torch.strided:
        return False
    try:
        return not hasattr(tensor.untyped_storage(), KEY)
    except (NotImplementedError, RuntimeError):  # It is made of others.
        return False


def attach(tensor: Tensor, memory: Memory) -> None:
    """Keep ``memory`` as long as the storage lives: torch keeps the Python object of a
    storage with it."""
    setattr(tensor.untyped_storage(), KEY, memory)


def covers(tensor: Tensor, memory: Memory) -> bool:
    """Tell whether a tensor is all of its storage."""
    return bool(tensor.numel() * tensor.itemsize == memory.nbytes)
