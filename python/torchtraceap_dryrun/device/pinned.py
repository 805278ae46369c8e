# SPDX-License-Identifier: BSD-3-Clause
"""pinned.py: which memory of the host would be page-locked. Loads torch.

On a machine without a GPU nothing can be pinned, so a mark on the storage stands for
it, which torch keeps as long as the storage.
"""

from __future__ import annotations

from torch import Tensor

_MARK = "_traceap_pinned"


def mark_pinned(tensor: Tensor) -> Tensor:
    """Say that a tensor's memory is pinned; return the tensor."""
    setattr(tensor.untyped_storage(), _MARK, True)
    return tensor


def is_pinned(tensor: Tensor) -> bool:
    """Tell whether a tensor's memory would be pinned."""
    return getattr(tensor.untyped_storage(), _MARK, False)
