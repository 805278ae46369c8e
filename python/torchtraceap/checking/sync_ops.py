# SPDX-License-Identifier: BSD-3-Clause
"""sync_ops.py: the one table of operators that make the CPU wait for a GPU.

It speaks of what PyTorch does with CUDA tensors, at the level at which operators are
dispatched, so that it can be applied to a run on the CPU. Copies to the host are
missing on purpose: between CPU tensors `.cpu()`, `.to("cpu")` and `.tolist()` call no
operator at all, so a run on the CPU cannot show them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Stands for the operators that printing calls, which torch hides from a dispatch mode.
PRINT = "Tensor.__repr__"

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def _always(_: Arguments) -> bool:
    return True


def _by_mask(arguments: Arguments) -> bool:
    """Indexing by a mask: its number of True values is the size of the result."""
    args, _ = arguments
    indices = args[1] if len(args) > 1 else ()
    return any(
        str(getattr(index, "dtype", "")) in ("torch.bool", "torch.uint8")
        for index in indices
    )


def _tensor_by_mask(arguments: Arguments) -> bool:
    """As above, but one value by a mask is a masked_fill, which needs no size."""
    args, _ = arguments
    return _by_mask(arguments) and (len(args) < 3 or args[2].numel() != 1)


def _without_output_size(arguments: Arguments) -> bool:
    _, kwargs = arguments
    return kwargs.get("output_size") is None


@dataclass(frozen=True)
class SyncOp:
    operators: tuple[str, ...]  # without overload
    written: str  # what it looks like in source code
    why: str  # the CPU waits for it
    instead: str
    names: tuple[str, ...] = ()  # what else `allow` may call it
    applies: Callable[[Arguments], bool] = _always


SYNC_OPS = (
    SyncOp(
        ("aten::_local_scalar_dense",),
        ".item(), float(t), int(t), bool(t), `if t:`, x[:t]",
        "one value is read back to Python",
        "keep the value on the device; read it every N steps, or after the loop",
        names=("item", "is_nonzero"),
    ),
    SyncOp(
        (PRINT,),
        "print(t), str(t), repr(t)",
        "the values are copied to the host",
        "print every N steps, or after the loop",
        names=("print", "repr"),
    ),
    SyncOp(
        ("aten::nonzero",),
        "nonzero(t), where(t), argwhere(t)",
        "the size of the result is known only on the device",
        "where(t, a, b), or nonzero_static(t, size=...)",
    ),
    SyncOp(
        ("aten::masked_select",),
        "masked_select(x, mask)",
        "the size of the result is known only on the device",
        "where(mask, x, 0), or weight by the mask",
    ),
    SyncOp(
        ("aten::index",),
        "x[mask]",
        "the size of the result is known only on the device",
        "where(mask, x, 0), or weight by the mask",
        applies=_by_mask,
    ),
    SyncOp(
        ("aten::index_put", "aten::index_put_"),
        "x[mask] = tensor",
        "the number of values to take is known only on the device",
        "x = where(mask, values, x), or masked_scatter",
        applies=_tensor_by_mask,
    ),
    SyncOp(
        (
            "aten::_unique",
            "aten::_unique2",
            "aten::unique_dim",
            "aten::unique_consecutive",
            "aten::unique_dim_consecutive",
        ),
        "unique(t), unique_consecutive(t)",
        "the size of the result is known only on the device",
        "work on the sorted values, or on the CPU before the copy to the device",
        names=("unique",),
    ),
    SyncOp(
        ("aten::repeat_interleave",),
        "repeat_interleave(x, repeats_tensor)",
        "the sum of the repeats is the size of the result",
        "pass output_size=",
        applies=_without_output_size,
    ),
    SyncOp(
        ("aten::bincount",),
        "bincount(t)",
        "the largest value is the size of the result",
        "zeros(n).scatter_add_(0, t, ones)",
    ),
    SyncOp(
        ("aten::equal", "aten::allclose"),
        "equal(a, b), allclose(a, b)",
        "the answer is a Python bool",
        "(a == b).all() stays on the device",
    ),
    SyncOp(
        ("aten::_linalg_check_errors", "aten::_linalg_eigh", "aten::_linalg_svd"),
        "linalg.inv, solve, cholesky, eigh, svd",
        "the error code is read back",
        "inv_ex, solve_ex, cholesky_ex, which leave it on the device",
        names=("linalg",),
    ),
)

BY_OPERATOR: Mapping[str, SyncOp] = {
    operator: row for row in SYNC_OPS for operator in row.operators
}


@dataclass(frozen=True)
class HostCode:
    """Library code whose tensors live on the CPU also when there is a GPU."""

    file: str  # end of the path, or a folder in it
    function: str  # "" for all
    what: str
    but_not_from: str = ""  # end of the path of the calling file


HOST_CODE = (
    # Adam and its like keep `step` on the CPU unless capturable or fused, and read
    # it through this function only. ASGD keeps it beside the parameters.
    HostCode(
        "torch/optim/optimizer.py",
        "_get_value",
        "optimizers' step counters",
        but_not_from="torch/optim/asgd.py",
    ),
    HostCode("torch/utils/data/", "", "the data loader"),
)


def host_code(file: str, function: str, caller_file: str) -> HostCode | None:
    """Returns the row that a Python frame belongs to."""
    path, caller = file.replace("\\", "/"), caller_file.replace("\\", "/")
    for row in HOST_CODE:
        if row.file in path and row.function in ("", function):
            excepted = row.but_not_from and caller.endswith(row.but_not_from)
            return None if excepted else row
    return None
