# SPDX-License-Identifier: BSD-3-Clause
"""loader.py: `DataLoader(pin_memory=True)` where nothing can be pinned. Loads torch.

With workers, torch pins batches in a thread of its own. Here it is done where the batch
is taken: else a program with one thread would be followed as one with several. Workers
are other processes, where there is no dry run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.utils.data import _utils
from torch.utils.data.dataloader import DataLoader

from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.without_modes import (
    without_dispatch_modes,
    without_function_modes,
)

_ITERATOR = "torch.utils.data.dataloader._MultiProcessingDataLoaderIter"
_worker_loop = private("torch.utils.data._utils.worker._worker_loop")


def worker_loop(*args: Any, **kwargs: Any) -> None:
    """Be a worker without the modes of the dry run, which a forked process inherits."""
    with without_function_modes(), without_dispatch_modes():
        _worker_loop(*args, **kwargs)


@contextmanager
def installed() -> Iterator[None]:
    """Let data loaders with workers give batches that count as pinned, if told to."""
    iterator = private(_ITERATOR)
    pin = private("torch.utils.data._utils.pin_memory.pin_memory")
    init, next_data = iterator.__init__, iterator._next_data

    def init_unpinned(self: Any, loader: DataLoader[Any]) -> None:
        self._torchtraceap_pins = loader.pin_memory
        loader.pin_memory = False
        try:
            init(self, loader)
        finally:
            loader.pin_memory = self._torchtraceap_pins

    def next_pinned(self: Any) -> Any:
        batch = next_data(self)
        return pin(batch) if getattr(self, "_torchtraceap_pins", False) else batch

    with Replacements() as replaced:
        replaced.set(iterator, "__init__", init_unpinned)
        replaced.set(iterator, "_next_data", next_pinned)
        replaced.set(_utils.worker, "_worker_loop", worker_loop)
        yield
