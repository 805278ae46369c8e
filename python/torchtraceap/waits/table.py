# SPDX-License-Identifier: BSD-3-Clause
"""table.py: what makes a host wait for a device: one table.

It speaks of what PyTorch does with CUDA tensors, at the level at which operators are
dispatched, and of the calls of torch.cuda that wait. Both checks without a GPU read it:
a dry run (dispatch.py), which knows what lies on the device, and the watch of a run on
the CPU (checking/sync_watch.py), where copies to the host call no operator at all.

call it where it is not known what the user wrote. No torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchtraceap.waits import conditions as when
from torchtraceap.waits.conditions import SyncOp
from torchtraceap.waits.hidden import HIDDEN

#: Stands for the operators that printing calls, which torch hides from a dispatch mode.
PRINT = "Tensor.__repr__"
#: Stand for copies, which are one operator in both directions.
TO_HOST = "Tensor.cpu"
TO_DEVICE = "Tensor.cuda"
#: Stands for tensors made of Python data on the device, below the dispatcher.
OF_DATA = "torch.tensor"
#: Stands for indices that are lists or arrays, which are copied as well.
BY_LIST = "Tensor.__getitem__(list)"


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
        applies=when.by_mask,
    ),
    SyncOp(
        ("aten::index_put", "aten::index_put_"),
        "x[mask] = tensor",
        "the number of values to take is known only on the device",
        "x = where(mask, values, x), or masked_scatter",
        applies=when.tensor_by_mask,
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
        applies=when.without_output_size,
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
        (TO_HOST,),
        ".cpu(), .to('cpu'), .tolist(), host.copy_(t)",
        "the values are copied to the host",
        "copy with non_blocking=True into pinned memory, or after the loop",
        names=("cpu", "tolist"),
    ),
    SyncOp(
        (TO_DEVICE,),
        "h.cuda(), h.to(device), t.copy_(h)",
        "the host waits until the copy is done",
        "pin_memory() and non_blocking=True, or make the tensor on the device",
        names=("cuda", "to"),
    ),
    SyncOp(
        (OF_DATA,),
        "torch.tensor(data, device=...), as_tensor, new_tensor",
        "the data are copied from the host",
        "torch.full, zeros or arange with device=, or make it once, before the loop",
        names=("tensor",),
    ),
    SyncOp(
        (BY_LIST,),
        "x[[0, 2]], x[array], x[host_tensor]",
        "the indices are copied from the host",
        "a slice, or an index tensor made once on the device",
    ),
    SyncOp(
        (
            "torch.cuda.synchronize",
            "torch.accelerator.synchronize",
            "Stream.synchronize",
            "Event.synchronize",
            "torch.distributed.barrier",
        ),
        "torch.cuda.synchronize(), event.synchronize(), barrier()",
        "it was asked for",
        "take it out; streams can wait for one another: stream.wait_event()",
        names=("synchronize",),
    ),
    SyncOp(
        ("torch.cuda.empty_cache",),
        "torch.cuda.empty_cache()",
        "the driver frees memory only when the device is idle",
        "take it out: what is freed is used again; PYTORCH_CUDA_ALLOC_CONF="
        "expandable_segments:True against fragments",
        names=("empty_cache",),
    ),
    *HIDDEN,
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


#: The sub-types of the core's rule sync_stall.
SUBTYPES = ("scalar_read", "data_dependent_shape", "blocking_copy", "event", "explicit")
_IN_WORDS = {
    "scalar_read": "reading a value",
    "data_dependent_shape": "asking for a size",
    "blocking_copy": "copying",
    "event": "synchronizing",
    "explicit": "synchronizing",
}
_MOST_WRITTEN = 3

_COPIES = {
    PRINT,
    TO_HOST,
    TO_DEVICE,
    OF_DATA,
    BY_LIST,
    "aten::segment_reduce",
    "aten::_ctc_loss",
}
_SIZES = {
    "aten::nonzero",
    "aten::masked_select",
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_unique",
    "aten::_unique2",
    "aten::unique_dim",
    "aten::unique_consecutive",
    "aten::unique_dim_consecutive",
    "aten::repeat_interleave",
    "aten::bincount",
    "aten::isin",
    "aten::_to_sparse",
    "aten::_coalesce",
    "aten::cross_entropy_loss",
}


def kind_of(api: str) -> str:
    """Return the sub-type of an API of the table: what is no copy, no size and was not
    asked for reads one value back, such as an error code."""
    if api in _COPIES:
        return "blocking_copy"
    if api in _SIZES:
        return "data_dependent_shape"
    if api == "Event.synchronize":
        return "event"
    return "scalar_read" if api.startswith("aten::") else "explicit"


def head_of(api: str, written: str = "") -> str:
    """Return what waits, for people: what they wrote, else what it is in words; and the
    API, which can be searched for, and which `allow` of the checks takes."""
    if not written:
        if api not in BY_OPERATOR:
            return api
        written = _IN_WORDS[kind_of(api)]
    return api if written == f"{api}()" else f"{written} ({api})"


def written_together(texts: Iterable[str]) -> str:
    """Join what was written at one line; "" if a part is not known, or it is much."""
    known = list(dict.fromkeys(texts))
    return "" if "" in known or len(known) > _MOST_WRITTEN else ", ".join(known)
