# SPDX-License-Identifier: BSD-3-Clause
"""live_memory.py: how much memory tensors on the device take. Loads torch."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from torchtraceap_dryrun.device.memory import KEY, Memory, attach, memory_of
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.record import Record

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
        operator tells of that."""
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
