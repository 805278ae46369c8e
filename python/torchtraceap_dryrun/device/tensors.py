# SPDX-License-Identifier: BSD-3-Clause
"""tensors.py: where a tensor is: on the device, represented by "meta", or in which
memory of the host; and the known state of each storage on the device, and their total
size.

On a machine without a GPU no memory can be pinned, and tensors saved from the device
are copies on the host: both are marked on storages; torch keeps the marks as long as
those. Loads torch.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from torchtraceap_dryrun.device.modes import without_function_modes
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.record import Record

#: Where tensors on the device are in truth.
DEVICE = torch.device("meta")
#: Where they seem to be.
CUDA = torch.device("cuda", 0)
#: The attribute of storages that has their Memory.
KEY = "_torchtraceap"


def on_device(tensor: Tensor) -> bool:
    """Tell whether a tensor of an operator is on the device: one that a program has on
    "meta" itself, see users_meta.py, is not given to such. Not to be asked under
    a function mode."""
    return bool(tensor.device.type == "meta")


def names_meta(device: Any) -> bool:
    """Tell whether a device, as a program may write it, is "meta" itself."""
    if isinstance(device, str):
        return device.startswith("meta")
    return isinstance(device, torch.device) and device.type == "meta"


def is_gpu(device: Any) -> bool:
    """Tell whether a device, as a program may write it, is the GPU.

    Raises:
        RuntimeError: It is a second one, in CUDA's words.
    """
    if device is None or isinstance(device, bool):
        return False
    if isinstance(device, int):
        index: int | None = device
    else:
        if isinstance(device, str):
            if not device.startswith(("cuda", "meta")):
                return False
            device = torch.device(device)
        if not isinstance(device, torch.device) or device.type not in ("cuda", "meta"):
            return False
        index = device.index
    if index not in (None, 0, -1):
        raise RuntimeError(
            f"CUDA error: invalid device ordinal (cuda:{index}; a dry run has one GPU)"
        )
    return True


_PINNED = "_traceap_pinned"


def mark_pinned(tensor: Tensor) -> Tensor:
    """Say that a tensor's memory is pinned; return the tensor."""
    setattr(tensor.untyped_storage(), _PINNED, True)
    return tensor


def is_pinned(tensor: Tensor) -> bool:
    """Tell whether a tensor's memory would be pinned."""
    return getattr(tensor.untyped_storage(), _PINNED, False)


_SAVED = "_traceap_saved"


def mark_saved(tensor: Tensor) -> None:
    """Say that a tensor of the host is saved for one of the device."""
    if tensor.layout == torch.strided:
        setattr(tensor.untyped_storage(), _SAVED, True)


def saved_place(storage: Any) -> str | None:
    """Return where a storage that is saved was, as files say it, if on the device."""
    return str(CUDA) if getattr(storage, _SAVED, False) else None


def is_here(value: Any) -> bool:
    """Tell whether something is a tensor on the device; under function modes too."""
    with without_function_modes():
        return isinstance(value, Tensor) and on_device(value) and not is_users(value)


@dataclass(slots=True)
class Memory:
    """What a dry run knows of a storage on the device."""

    nbytes: int
    shadow: UntypedStorage | None = None
    known: bool = True
    #: Of masks without values: how many elements are assumed true.
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


# What the caching allocator rounds up to.
_BLOCK = 512


class LiveMemory:
    """Counts bytes of storages from when they are first met until torch frees them."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._now = 0
        # Of what torch freed: in any thread and at any moment, so nothing is locked.
        self._freed: deque[int] = deque()
        self.peak = 0  #: Since the program last asked for it to be reset.

    @property
    def now(self) -> int:
        """Bytes that are taken."""
        while self._freed:
            self._now -= self._freed.popleft()
        return self._now

    def allocate(self, tensor: Tensor) -> None:
        """Count the memory of a tensor on the device, if it is new or was resized."""
        if tensor.layout != torch.strided:
            return
        storage = tensor.untyped_storage()
        memory = memory_of(tensor)
        if memory is not None:
            if memory.nbytes != storage.nbytes():
                self._resize(memory, storage.nbytes())
            return
        memory = Memory(storage.nbytes())
        attach(tensor, memory)
        self._take(_taken(memory))
        weakref.finalize(storage, self._free, memory).atexit = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See storages that are resized by themselves, as FSDP does to free them: no
        operator shows that."""
        former = UntypedStorage.resize_

        def resize_(storage: UntypedStorage, size: int) -> Any:
            found = former(storage, size)
            memory = getattr(storage, KEY, None)
            if memory is not None:
                self._resize(memory, storage.nbytes())
            return found

        with Replacements() as replaced:
            replaced.set(UntypedStorage, "resize_", resize_)
            yield

    def _resize(self, memory: Memory, nbytes: int) -> None:
        before = _taken(memory)
        if nbytes > memory.nbytes:
            memory.known = False  # What is new has no values yet: Values.shadow.
        memory.counts.clear()
        memory.nbytes = nbytes
        self._take(_taken(memory) - before)

    def _take(self, nbytes: int) -> None:
        now = self._now = self.now + nbytes
        self.peak = max(self.peak, now)
        self._record.peak_bytes = max(self._record.peak_bytes, now)

    def _free(self, memory: Memory) -> None:
        self._freed.append(_taken(memory))


def _taken(memory: Memory) -> int:
    return -(-memory.nbytes // _BLOCK) * _BLOCK
