# SPDX-License-Identifier: BSD-3-Clause
"""loading.py: torch.load(map_location="cuda"), onto the device of the dry run.

Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import UntypedStorage

from torchtraceap.dryrun.device.border import Border
from torchtraceap.dryrun.device.devices import is_gpu, names_meta
from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.waits.sync_ops import TO_DEVICE

_registry = private("torch.serialization._package_registry")
# torch asks in this order, itself for the CPU at 10 and for CUDA at 20.
_FIRST = 0


@contextmanager
def loading(border: Border) -> Iterator[None]:
    """Copy storages that are loaded for the GPU to the device, each once, as torch
    does."""

    def place(storage: Any, location: str) -> Any:
        if not is_gpu(location) or names_meta(location):
            return None
        content = torch.empty(0, dtype=torch.uint8)
        content.set_(
            storage if isinstance(storage, UntypedStorage) else storage.untyped()
        )
        return border.push(content, TO_DEVICE).untyped_storage()

    def address(self: Any) -> int:
        # Storages at 0 are empty to torch.load, and would be loaded again and again.
        storage = self._untyped_storage
        return id(storage) if storage.device.type == "meta" else storage.data_ptr()

    row = (_FIRST, lambda storage: None, place)
    _registry.insert(0, row)
    try:
        with Replacements() as replaced:
            replaced.set(torch.storage.TypedStorage, "_data_ptr", address)
            yield
    finally:
        _registry.remove(row)
