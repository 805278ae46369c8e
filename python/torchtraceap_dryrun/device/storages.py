# SPDX-License-Identifier: BSD-3-Clause
"""storages.py: the attributes of storages on the device, and how they are moved and
loaded.

torch calls no mode for operations on storages, so methods are replaced. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from torchtraceap.base.errors import DryRunError
from torchtraceap.waits.table import TO_DEVICE
from torchtraceap_dryrun.device.copies import copy_to_device
from torchtraceap_dryrun.device.modes import (
    without_dispatch_modes,
    without_function_modes,
)
from torchtraceap_dryrun.device.run import Run
from torchtraceap_dryrun.device.tensors import (
    CUDA,
    KEY,
    is_gpu,
    names_meta,
    saved_place,
)
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private

# As C asks, whatever stands in for it.
_true_device = UntypedStorage.device.__get__
_write_file = private("torch.UntypedStorage._write_file")
_set_from_file = private("torch.UntypedStorage._set_from_file")
private("torch.UntypedStorage._share_cuda_")  # Replaced below by its name.
_registry = private("torch.serialization._package_registry")
# torch asks in this order, itself for the CPU at 10 and for CUDA at 20. No program
# takes this one: torch sorts the rows when one is added, and cannot if two are alike.
_FIRST = -1


def is_storage_here(storage: UntypedStorage) -> bool:
    """Tell whether a storage is on the device: one on "meta" that is a program's own
    has no Memory."""
    return bool(_true_device(storage).type == "meta") and hasattr(storage, KEY)


def bytes_of(storage: UntypedStorage) -> Tensor:
    """Return a tensor that is all of a storage, on its device. It is not an operator of
    the program."""
    with without_function_modes(), without_dispatch_modes():
        content = torch.empty(0, dtype=torch.uint8, device=_true_device(storage))
        return content.set_(storage)


@contextmanager
def loading(run: Run) -> Iterator[None]:
    """Let storages on the device answer as a GPU's, and mark saved ones that were
    there; copy storages loaded for the GPU to it, each once, as torch does."""

    def place(storage: Any, location: str) -> Any:
        if not is_gpu(location) or names_meta(location):
            return None
        if not isinstance(storage, UntypedStorage):
            storage = storage.untyped()
        return _placed(run, storage)

    def address(self: Any) -> int:
        # Storages at 0 are empty to torch.load, and would be loaded again and again.
        storage = self._untyped_storage
        return id(storage) if is_storage_here(storage) else storage.data_ptr()

    row = (_FIRST, saved_place, place)
    _registry.insert(0, row)
    try:
        with Replacements() as replaced:
            for name, method in _methods(run):
                replaced.set(UntypedStorage, name, method)
            replaced.set(torch.storage.TypedStorage, "_data_ptr", address)
            yield
    finally:
        _registry.remove(row)


def _placed(run: Run, storage: UntypedStorage, waits: bool = True) -> UntypedStorage:
    """Return a copy on the device of a storage of the host."""
    content = bytes_of(storage)
    with without_function_modes():
        out = run.new(content.shape, content.dtype)
        to_copy = torch.ops.aten._to_copy.default
        copy_to_device(run, to_copy, out, content, waits, TO_DEVICE)
        return out.untyped_storage()


def _methods(run: Run) -> Iterator[tuple[str, Any]]:
    def device(storage: UntypedStorage) -> torch.device:
        return CUDA if is_storage_here(storage) else _true_device(storage)

    of_torch = UntypedStorage.to

    def to(storage: UntypedStorage, *, device: Any, non_blocking: bool = False) -> Any:
        if not is_gpu(device) or names_meta(device):
            return of_torch(storage, device=device, non_blocking=non_blocking)
        if is_storage_here(storage):
            return storage
        return _placed(run, storage, not non_blocking)

    # is_cuda asks this in Python, as do share_memory_() and torch.save. C does not.
    yield "device", property(device)
    yield "to", to  # cuda() calls it too.
    for name, of_device in (
        ("clone", lambda one: bytes_of(one).clone().untyped_storage()),
        ("is_shared", lambda one: True),
        # torch's would copy each byte to the host.
        ("__repr__", lambda one: f"<storage on cuda:0 of {one.nbytes()} bytes>"),
        ("__getitem__", _item),
        ("_share_cuda_", _refuse_sharing),
        # For pickle. In C these go to the memory, and there is none.
        ("_write_file", lambda one, *args: _write_file(one.cpu(), *args)),
        ("_set_from_file", _fill),
    ):
        yield name, _where(getattr(UntypedStorage, name), of_device)


def _where(former: Any, of_device: Any) -> Any:
    """Return what does one thing for storages of the device, for others the former."""

    def method(storage: UntypedStorage, *args: Any, **kwargs: Any) -> Any:
        do = of_device if is_storage_here(storage) else former
        return do(storage, *args, **kwargs)

    return method


def _item(storage: UntypedStorage, index: Any) -> Any:
    if isinstance(index, slice):
        raise DryRunError(
            "slices of a storage on the device are not followed in a dry run: take "
            "those of the tensor"
        )
    return bytes_of(storage)[index].item()


def _fill(storage: UntypedStorage, *args: Any) -> UntypedStorage:
    host = _set_from_file(UntypedStorage(storage.nbytes()), *args)
    bytes_of(storage).copy_(bytes_of(host))
    return storage


def _refuse_sharing(storage: UntypedStorage) -> Any:
    raise DryRunError(
        "memory of the device cannot be given to another process in a dry run: there "
        "is no GPU to share"
    )
