# SPDX-License-Identifier: BSD-3-Clause
"""live_memory.py: how much memory tensors on the device take. Loads torch."""

from __future__ import annotations

import weakref

import torch
from torch import Tensor

from torchtraceap.dryrun.device.values import Memory, attach, memory_of
from torchtraceap.dryrun.record import Record

# What the caching allocator rounds up to.
_BLOCK = 512


class LiveMemory:
    """Counts bytes of storages from when they are first met until torch frees them."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self.now = 0
        self.peak = 0  #: Since the program last asked for it to be reset.

    def allocate(self, tensor: Tensor) -> None:
        """Count the memory of a tensor on the device, if it is new."""
        if tensor.layout != torch.strided or memory_of(tensor) is not None:
            return
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        attach(tensor, Memory(size))
        taken = -(-size // _BLOCK) * _BLOCK
        self.now += taken
        self.peak = max(self.peak, self.now)
        self._record.peak_bytes = max(self._record.peak_bytes, self.now)
        weakref.finalize(storage, self._free, taken).atexit = False

    def _free(self, taken: int) -> None:
        self.now -= taken
