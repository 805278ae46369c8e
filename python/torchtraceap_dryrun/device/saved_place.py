# SPDX-License-Identifier: BSD-3-Clause
"""saved_place.py: which memory of the host is saved in place of the device's.

A file says of each storage where it was, and torch.load brings it back there. What is
saved is a copy on the host, so a mark on it stands for where it was. Loads torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.devices import CUDA

_MARK = "_traceap_saved"


def mark_saved(tensor: Tensor) -> None:
    """Say that a tensor of the host is saved for one of the device."""
    if tensor.layout == torch.strided:
        setattr(tensor.untyped_storage(), _MARK, True)


def saved_place(storage: Any) -> str | None:
    """Return where a storage that is saved was, as files say it, if on the device."""
    return str(CUDA) if getattr(storage, _MARK, False) else None
