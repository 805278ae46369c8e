# SPDX-License-Identifier: BSD-3-Clause
"""memory.py: what is kept with each storage on the device. Loads torch."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.host_threads import Made

#: The attribute of storages that has their Memory.
KEY = "_torchtraceap"
# The attribute of those on "meta" that are a program's own.
_USERS = "_torchtraceap_users"
# Whether threads that are not followed, so make tensors unseen, were there when the run
# began: there is one run at a time.
_unseen = False


@dataclass(slots=True)
class Memory:
    """What a dry run knows of a storage on the device."""

    nbytes: int
    shadow: UntypedStorage | None = None
    known: bool = True
    #: Of masks without values: how many elements were said to be true.
    counts: dict[Any, int] = field(default_factory=dict)
    #: What last made it or wrote to it, if there are several threads; maybe in a run
    #: of before.
    made: Made | None = None


def memory_of(tensor: Tensor) -> Memory | None:
    """Return what is known of a tensor's storage; None if it was not met before, or has
    none because it is sparse."""
    if tensor.layout != torch.strided:
        return None
    found: Memory | None = getattr(tensor.untyped_storage(), KEY, None)
    return found


def _storage_of(tensor: Tensor) -> UntypedStorage | None:
    """Return the storage of a tensor on "meta"; None if it is elsewhere or has none,
    as it is made of others."""
    if tensor.device.type != "meta" or tensor.layout != torch.strided:
        return None
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def is_users(tensor: Tensor) -> bool:
    """Tell whether a program has a tensor on "meta" itself: each of the device has its
    Memory from the operator that made it, or is of a thread that is not followed. Not
    to be asked under a function mode."""
    storage = _storage_of(tensor)
    if storage is None or hasattr(storage, KEY):
        return False
    return not _unseen or hasattr(storage, _USERS)


def is_unseen(tensor: Tensor) -> bool:
    """Tell whether a tensor is on the device, and a thread that is not followed made
    it. Not to be asked under a function mode."""
    storage = _storage_of(tensor) if _unseen else None
    if storage is None or hasattr(storage, KEY):
        return False
    return not hasattr(storage, _USERS)


def mark_users(tensor: Tensor) -> None:
    """Say that a tensor is a program's own, if it is on "meta". Not to be called under
    a function mode."""
    storage = _storage_of(tensor)
    if storage is not None:
        setattr(storage, _USERS, True)


def mark_what_is_there() -> None:
    """Say that what is on "meta" already is the program's own, as a run begins. Not to
    be called under a function mode.

    Takes a tenth of a second in a large program, so only where it makes a difference:
    if all threads are followed, whatever has no Memory is the program's own.
    """
    global _unseen
    _unseen = threading.active_count() > 1
    if _unseen:
        objects = gc.get_objects()
        # By type: isinstance asks the object, which may be a proxy that answers. By id:
        # of other people's classes nothing is asked, as some cannot even be hashed.
        kinds = _kinds_of_tensors()
        for tensor in [one for one in objects if id(type(one)) in kinds]:
            mark_users(tensor)
            # torch may have it without an object of Python.
            if tensor.is_leaf and tensor.grad is not None:
                mark_users(tensor.grad)


def _kinds_of_tensors() -> dict[int, type]:
    """Return Tensor and the classes made of it, by id."""
    found: dict[int, type] = {}
    left: list[type] = [Tensor]
    while left:
        kind = left.pop()
        if id(kind) not in found:
            found[id(kind)] = kind
            left += type.__subclasses__(kind)
    return found


def attach(tensor: Tensor, memory: Memory) -> None:
    """Keep ``memory`` as long as the storage lives: torch keeps the Python object of a
    storage with it."""
    setattr(tensor.untyped_storage(), KEY, memory)


def made_of(tensors: Iterable[Tensor]) -> Iterator[Made]:
    """Yield what made tensors, as far as that is known."""
    for tensor in tensors:
        memory = memory_of(tensor) if on_device(tensor) else None
        if memory is not None and memory.made is not None:
            yield memory.made


def say_made(tensors: Iterable[Tensor], by: Made) -> None:
    """Say what made tensors, or wrote to them."""
    for tensor in tensors:
        memory = memory_of(tensor) if on_device(tensor) else None
        if memory is not None:
            memory.made = by


def covers(tensor: Tensor, memory: Memory) -> bool:
    """Tell whether a tensor is all of its storage."""
    return bool(tensor.numel() * tensor.itemsize == memory.nbytes)
