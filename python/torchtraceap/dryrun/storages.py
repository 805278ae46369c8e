# SPDX-License-Identifier: BSD-3-Clause
"""storages.py: memory without a tensor that moves, as in `torch.load`. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from torchtraceap.dryrun.devices import DEVICE, is_gpu
from torchtraceap.dryrun.replacing import Replacements


@contextmanager
def installed() -> Iterator[None]:
    """Let storages move between host and device, as bytes."""
    storages = torch.UntypedStorage
    stay = storages.to

    def move(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        to_device, on_device = is_gpu(device), self.device.type == "meta"
        if to_device == on_device:
            return self if to_device else stay(self, device=device)
        whole = torch.empty(0, dtype=torch.uint8, device=self.device).set_(self)
        target = DEVICE if to_device else torch.device("cpu")
        return whole.to(target, non_blocking=non_blocking).untyped_storage()

    replaced = Replacements()
    try:
        replaced.set(storages, "to", move)
        yield
    finally:
        replaced.undo()
