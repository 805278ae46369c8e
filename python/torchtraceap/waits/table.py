# SPDX-License-Identifier: BSD-3-Clause
"""table.py: what makes a host wait for a device, why, and what to do instead.

It speaks of what PyTorch does with CUDA tensors, at the level at which operators are
dispatched, and of the calls of torch.cuda that wait. All checks read it: a dry run,
which knows what lies on the device; a run on the CPU, where copies to the host call no
operator at all; and a run on a GPU, for the words. No torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torchtraceap.waits import conditions as when

#: The operators that printing calls, which torch hides from a dispatch mode.
PRINT = "Tensor.__repr__"
#: Copies, which are one operator in both directions.
TO_HOST = "Tensor.cpu"
TO_DEVICE = "Tensor.cuda"
#: Tensors made of Python data on the device, below the dispatcher.
OF_DATA = "torch.tensor"
#: Indices that are lists or arrays, which are copied as well.
BY_LIST = "Tensor.__getitem__(list)"


@dataclass(frozen=True)
class Kind:
    """A sub-type of the core's rule sync_stall, and the text for all its waits."""

    name: str
    in_words: str
    why: str
    instead: str


SCALAR = Kind(
    "scalar_read",
    "reading a value",
    "one value is read back to Python",
    "keep the value on the device; read it every N steps, or after the loop",
)
SIZE = Kind(
    "data_dependent_shape",
    "asking for a size",
    "the size of the result is known only on the device",
    "where(mask, x, 0), or weight by the mask",
)
COPY = Kind(
    "blocking_copy",
    "copying",
    "the host waits until the copy is done",
    "copy with non_blocking=True from and to pinned memory, or after the loop",
)
EVENT = Kind(
    "event",
    "synchronizing",
    "it was asked for",
    "let the device wait: stream.wait_event()",
)
EXPLICIT = Kind(
    "explicit",
    "synchronizing",
    "it was asked for",
    "take it out; streams can wait for one another: stream.wait_event()",
)
KINDS = (SCALAR, SIZE, COPY, EVENT, EXPLICIT)


@dataclass(frozen=True)
class Cause:
    """A row of the table."""

    kind: Kind
    operators: tuple[str, ...]  #: Without overload.
    written: str  #: What it looks like in source code.
    why: str = ""  #: The CPU waits for it; "" means the text of the kind.
    instead: str = ""  #: The same.
    names: tuple[str, ...] = ()  #: What else `allow` may call it.
    #: Whether an operator waits if it is dispatched with these arguments.
    applies: Callable[[when.Args, when.Kwargs], bool] = when.always
    hidden: bool = False  #: Inside CUDA's kernel: no operator of its own shows it.

    def __post_init__(self) -> None:
        object.__setattr__(self, "why", self.why or self.kind.why)
        object.__setattr__(self, "instead", self.instead or self.kind.instead)

    @property
    def what(self) -> str:
        """What waits, and why, in one line."""
        return f"{self.written}: {self.why}"


_SEEN = (
    Cause(
        SCALAR,
        ("aten::_local_scalar_dense",),
        ".item(), float(t), int(t), bool(t), `if t:`, x[:t]",
        names=("item", "is_nonzero"),
    ),
    Cause(
        COPY,
        (PRINT,),
        "print(t), str(t), repr(t)",
        "the values are copied to the host",
        "print every N steps, or after the loop",
        names=("print", "repr"),
    ),
    Cause(
        SIZE,
        ("aten::nonzero",),
        "nonzero(t), where(t), argwhere(t)",
        instead="where(t, a, b), or nonzero_static(t, size=...)",
    ),
    Cause(SIZE, ("aten::masked_select",), "masked_select(x, mask)"),
    Cause(SIZE, ("aten::index",), "x[mask]", applies=when.by_mask),
    Cause(
        SIZE,
        ("aten::index_put", "aten::index_put_"),
        "x[mask] = tensor",
        "the number of values to take is known only on the device",
        "x = where(mask, values, x), or masked_scatter",
        applies=when.tensor_by_mask,
    ),
    Cause(
        SIZE,
        (
            "aten::_unique",
            "aten::_unique2",
            "aten::unique_dim",
            "aten::unique_consecutive",
            "aten::unique_dim_consecutive",
        ),
        "unique(t), unique_consecutive(t)",
        instead="work on the sorted values, or on the CPU before the copy to the "
        "device",
        names=("unique",),
    ),
    Cause(
        SIZE,
        ("aten::repeat_interleave",),
        "repeat_interleave(x, repeats_tensor)",
        "the sum of the repeats is the size of the result",
        "pass output_size=",
        applies=when.without_output_size,
    ),
    Cause(
        SIZE,
        ("aten::bincount",),
        "bincount(t)",
        "the largest value is the size of the result",
        "zeros(n).scatter_add_(0, t, ones)",
    ),
    Cause(
        SCALAR,
        ("aten::equal", "aten::allclose"),
        "equal(a, b), allclose(a, b)",
        "the answer is a Python bool",
        "(a == b).all() stays on the device",
    ),
    Cause(
        COPY,
        (TO_HOST,),
        ".cpu(), .to('cpu'), .tolist(), host.copy_(t)",
        "the values are copied to the host",
        "copy with non_blocking=True into pinned memory, or after the loop",
        names=("cpu", "tolist"),
    ),
    Cause(
        COPY,
        (TO_DEVICE,),
        "h.cuda(), h.to(device), t.copy_(h)",
        instead="pin_memory() and non_blocking=True, or make the tensor on the device",
        names=("cuda", "to"),
    ),
    Cause(
        COPY,
        (OF_DATA,),
        "torch.tensor(data, device=...), as_tensor, new_tensor",
        "the data are copied from the host",
        "torch.full, zeros or arange with device=, or make it once, before the loop",
        names=("tensor",),
    ),
    Cause(
        COPY,
        (BY_LIST,),
        "x[[0, 2]], x[array], x[host_tensor]",
        "the indices are copied from the host",
        "a slice, or an index tensor made once on the device",
    ),
    Cause(
        EXPLICIT,
        (
            "torch.cuda.synchronize",
            "torch.accelerator.synchronize",
            "Stream.synchronize",
            "torch.distributed.barrier",
        ),
        "torch.cuda.synchronize(), stream.synchronize(), barrier()",
        names=("synchronize",),
    ),
    Cause(EVENT, ("Event.synchronize",), "event.synchronize()", names=("synchronize",)),
    Cause(
        EXPLICIT,
        ("torch.cuda.empty_cache",),
        "torch.cuda.empty_cache()",
        "the driver frees memory only when the device is idle",
        "take it out: what is freed is used again; PYTORCH_CUDA_ALLOC_CONF="
        "expandable_segments:True against fragments",
        names=("empty_cache",),
    ),
)
# Inside of CUDA's kernels, so that only a table can tell.
_HIDDEN = (
    Cause(
        SCALAR,
        (
            "aten::_linalg_check_errors",
            "aten::_linalg_eigh",
            "aten::_linalg_svd",
            "aten::linalg_eig",
            "aten::linalg_lstsq",
            "aten::linalg_pinv",
            "aten::cholesky",
            "aten::cholesky_inverse",
        ),
        "linalg.inv, solve, cholesky, eigh, svd, lstsq, pinv",
        "the error code is read back",
        "inv_ex, solve_ex, cholesky_ex, which leave it on the device",
        names=("linalg",),
    ),
    Cause(
        SCALAR,
        (
            "aten::linalg_inv_ex",
            "aten::_linalg_solve_ex",
            "aten::linalg_cholesky_ex",
            "aten::linalg_lu_factor_ex",
            "aten::linalg_ldl_factor_ex",
        ),
        "linalg.inv_ex(t, check_errors=True)",
        "the error code is read back",
        "leave check_errors out",
        names=("linalg",),
        applies=when.checking_errors,
    ),
    Cause(
        SCALAR,
        ("aten::linalg_matrix_exp",),
        "linalg.matrix_exp(t)",
        "matrices are sorted by their norms on the host",
        "keep it out of the loop",
        names=("linalg",),
    ),
    Cause(
        SCALAR,
        (
            "aten::masked_fill",
            "aten::masked_fill_",
            "aten::index_fill",
            "aten::index_fill_",
        ),
        "x.masked_fill(mask, t), x.index_fill(0, index, t)",
        "a value on the device is read back to fill with it",
        "where(mask, t, x)",
        applies=when.value_on_device,
    ),
    Cause(
        SCALAR,
        ("aten::normal",),
        "normal(mean, std_tensor), Normal.sample()",
        "it is asked whether a std is negative",
        "mean + std * randn_like(std), Normal.rsample()",
        applies=when.tensor_as_std,
    ),
    Cause(
        SCALAR,
        ("aten::linspace", "aten::logspace"),
        "linspace(t, u, steps)",
        "the ends are read back",
        "t + (u - t) * linspace(0, 1, steps)",
        applies=when.tensor_as_end,
    ),
    Cause(
        SCALAR,
        ("aten::histc",),
        "histc(x, bins)",
        "the least and the largest value are read back",
        "pass min= and max=",
        applies=when.without_range,
    ),
    Cause(
        SIZE,
        ("aten::isin",),
        "isin(x, among)",
        "many values are made unique first, whose number only the device knows",
        "index a table of bools, or assume_unique=True",
        applies=when.among_many,
    ),
    Cause(
        COPY,
        ("aten::segment_reduce",),
        "segment_reduce(x, lengths=)",
        "the lengths are checked on the host",
        "unsafe=True",
        applies=when.with_checks,
    ),
    Cause(
        SIZE,
        ("aten::_to_sparse", "aten::_coalesce"),
        "to_sparse(), coalesce()",
        "the number of values is known only on the device",
        "make sparse tensors outside of the loop",
        names=("sparse",),
    ),
    Cause(
        SCALAR,
        ("aten::_nested_tensor_from_mask_left_aligned",),
        "TransformerEncoder(...)(x, src_key_padding_mask=mask)",
        "whether the mask pads on the right only is asked in Python",
        "TransformerEncoder(..., enable_nested_tensor=False)",
    ),
    Cause(
        COPY,
        ("aten::_ctc_loss",),
        "ctc_loss",
        "lengths are copied to the device",
        "keep the lengths on the CPU, so that they are not copied back as well",
    ),
    Cause(
        SIZE,
        ("aten::cross_entropy_loss",),
        "cross_entropy(x, target, weight, label_smoothing=)",
        "targets that do not count are left out, whose number only the device knows",
        "weight or label_smoothing, not both; or reduction='sum'",
    ),
)
CAUSES = (*_SEEN, *(replace(row, hidden=True) for row in _HIDDEN))

BY_OPERATOR: Mapping[str, Cause] = {
    operator: row for row in CAUSES for operator in row.operators
}
_BY_KIND = {kind.name: Cause(kind, (), kind.in_words) for kind in KINDS}


def cause_of(operator: str, kind: str) -> Cause:
    """Return the row of the operator in which a wait of a kind was recorded; if it is
    not in the table, the row for all waits of the kind."""
    row = BY_OPERATOR.get(operator)
    return row if row is not None and row.kind.name == kind else _BY_KIND[kind]


def head_of(api: str, written: str = "") -> str:
    """Return what waits, for people: what they wrote, else what it is in words; and the
    API, which can be searched for, and which `allow` of the checks takes."""
    if not written:
        if api not in BY_OPERATOR:
            return api
        written = BY_OPERATOR[api].kind.in_words
    return api if written == f"{api}()" else f"{written} ({api})"
