# SPDX-License-Identifier: BSD-3-Clause
"""list_indices.py: indices that are no tensors, but become some. Loads torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torchtraceap.waits.table import BY_LIST
from torchtraceap_dryrun.device.replacements import FunctionTable, is_here
from torchtraceap_dryrun.without_modes import without_function_modes

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.border import Border

# Until 2.13 a number that is put into a CUDA tensor becomes a tensor of the host first.
_NUMBERS_ARE_TENSORS = torch.__version__ < (2, 14)


def _by_index(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    if is_here(args[0]):
        index = args[1]
        whole = index if isinstance(index, tuple) else (index,)
        if any(map(_is_data, whole)):
            moved = tuple(_as_index(border, one) for one in whole)
            args = (args[0], moved if isinstance(index, tuple) else moved[0], *args[2:])
    return func(*args, **kwargs)


def _set_by_index(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
    is_number = len(args) > 2 and isinstance(args[2], bool | int | float | complex)
    if _NUMBERS_ARE_TENSORS and is_number and is_here(args[0]):
        with without_function_modes():
            number = torch.scalar_tensor(args[2], dtype=args[0].dtype)
        args = (*args[:2], number)
    return _by_index(border, func, args, kwargs)


def _is_data(index: Any) -> bool:
    if isinstance(index, list | range):
        return not any(isinstance(one, slice | Tensor) or one is None for one in index)
    return type(index).__name__ == "ndarray"


def _as_index(border: Border, index: Any) -> Any:
    if not _is_data(index):
        return index
    with without_function_modes():
        host = torch.as_tensor(list(index) if isinstance(index, range) else index)
        if host.numel() == 0:
            host = host.to(torch.int64)
    return border.push(host, BY_LIST)


LIST_INDICES: FunctionTable = {
    Tensor.__getitem__: _by_index,
    Tensor.__setitem__: _set_by_index,
}
