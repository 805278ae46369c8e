# SPDX-License-Identifier: BSD-3-Clause
"""pinned.py: which memory of the host would be page-locked. Loads torch.

On a machine without a GPU nothing can be pinned, so a mark on the storage stands for
it, which torch keeps as long as the storage.
"""

from __future__ import annotations

import torch
from torch import Tensor

_MARK = "_traceap_pinned"
_GUESS = "_traceap_guess"


def mark_pinned(tensor: Tensor) -> Tensor:
    """Say that a tensor's memory is pinned; return the tensor."""
    setattr(tensor.untyped_storage(), _MARK, True)
    return tensor


def is_pinned(tensor: Tensor) -> bool:
    """Tell whether a tensor's memory would be pinned."""
    return getattr(tensor.untyped_storage(), _MARK, False)


def mark_guess(tensor: Tensor) -> None:
    """Say that a tensor of the host holds values that were copied from the device and
    are not known."""
    setattr(tensor.untyped_storage(), _GUESS, True)


def is_guess(tensor: Tensor) -> bool:
    """Tell whether a strided tensor of the host holds such values."""
    if tensor.layout != torch.strided:
        return False
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # Of a subclass that has none.
        return False
    return getattr(storage, _GUESS, False)
