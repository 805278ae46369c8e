# SPDX-License-Identifier: BSD-3-Clause
"""plain_values.py: what is written down of an operator's arguments. Loads torch."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.record import TensorInfo


@cache
def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def info_of(tensor: Tensor) -> TensorInfo:
    """Describe a tensor; one on "meta" is on the device."""
    strided = tensor.layout == torch.strided
    return _interned(
        tuple(tensor.shape),
        _dtype_name(tensor.dtype),
        tensor.stride() if strided else (1,) * tensor.dim(),
        "cuda" if tensor.device.type == "meta" else "cpu",
    )


# The same object for the same tensor: lists of an optimizer are most of a record.
_interned = lru_cache(maxsize=1 << 16)(TensorInfo)


def plain(value: Any) -> Any:
    """Return an argument without tensors and torch's own types, as `Op` has it."""
    if isinstance(value, Tensor):
        return info_of(value)
    if isinstance(value, list | tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, bool | int | float | str | complex) or value is None:
        return value
    return str(value).removeprefix("torch.")
