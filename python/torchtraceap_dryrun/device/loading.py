# SPDX-License-Identifier: BSD-3-Clause
"""loading.py: what was saved on the device, or is loaded for it, is loaded onto it.

Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import UntypedStorage

from torchtraceap_dryrun.device.border import Border
from torchtraceap_dryrun.device.devices import is_gpu, names_meta
from torchtraceap_dryrun.device.saved_place import saved_place
from torchtraceap_dryrun.device.storages import Storages, is_here
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private

_registry = private("torch.serialization._package_registry")
# torch asks in this order, itself for the CPU at 10 and for CUDA at 20. No program
# takes this one: torch sorts the rows when one is added, and cannot if two are alike.
_FIRST = -1


@contextmanager
def loading(border: Border) -> Iterator[None]:
    """Say of what is saved whether it was on the device; copy storages that are loaded
    for the GPU to the device, each once, as torch does."""
    storages = Storages(border)

    def place(storage: Any, location: str) -> Any:
        if not is_gpu(location) or names_meta(location):
            return None
        if not isinstance(storage, UntypedStorage):
            storage = storage.untyped()
        return storages.place(storage)

    def address(self: Any) -> int:
        # Storages at 0 are empty to torch.load, and would be loaded again and again.
        storage = self._untyped_storage
        return id(storage) if is_here(storage) else storage.data_ptr()

    row = (_FIRST, saved_place, place)
    _registry.insert(0, row)
    try:
        with storages.answering(), Replacements() as replaced:
            replaced.set(torch.storage.TypedStorage, "_data_ptr", address)
            yield
    finally:
        _registry.remove(row)
