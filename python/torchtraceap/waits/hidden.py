# SPDX-License-Identifier: BSD-3-Clause
"""hidden.py: the rows of sync_ops.py that wait inside of CUDA's kernels.

No operator of its own shows these waits, so only a table can tell them.
"""

from __future__ import annotations

from torchtraceap.waits import conditions as when
from torchtraceap.waits.conditions import SyncOp

HIDDEN = (
    SyncOp(
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
        hidden=True,
    ),
    SyncOp(
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
        hidden=True,
    ),
    SyncOp(
        ("aten::linalg_matrix_exp",),
        "linalg.matrix_exp(t)",
        "matrices are sorted by their norms on the host",
        "keep it out of the loop",
        names=("linalg",),
        hidden=True,
    ),
    SyncOp(
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
        hidden=True,
        dry_only=True,
    ),
    SyncOp(
        ("aten::normal",),
        "normal(mean, std_tensor), Normal.sample()",
        "it is asked whether a std is negative",
        "mean + std * randn_like(std), Normal.rsample()",
        applies=when.tensor_as_std,
        hidden=True,
    ),
    SyncOp(
        ("aten::linspace", "aten::logspace"),
        "linspace(t, u, steps)",
        "the ends are read back",
        "t + (u - t) * linspace(0, 1, steps)",
        applies=when.tensor_as_end,
        hidden=True,
    ),
    SyncOp(
        ("aten::histc",),
        "histc(x, bins)",
        "the least and the largest value are read back",
        "pass min= and max=",
        applies=when.without_range,
        hidden=True,
    ),
    SyncOp(
        ("aten::isin",),
        "isin(x, among)",
        "many values are made unique first, whose number only the device knows",
        "index a table of bools, or assume_unique=True",
        applies=when.among_many,
        hidden=True,
    ),
    SyncOp(
        ("aten::segment_reduce",),
        "segment_reduce(x, lengths=)",
        "the lengths are checked on the host",
        "unsafe=True",
        applies=when.with_checks,
        hidden=True,
    ),
    SyncOp(
        ("aten::_to_sparse", "aten::_coalesce"),
        "to_sparse(), coalesce()",
        "the number of values is known only on the device",
        "make sparse tensors outside of the loop",
        names=("sparse",),
        hidden=True,
    ),
    SyncOp(
        ("aten::_nested_tensor_from_mask_left_aligned",),
        "TransformerEncoder(...)(x, src_key_padding_mask=mask)",
        "whether the mask pads on the right only is asked in Python",
        "TransformerEncoder(..., enable_nested_tensor=False)",
        hidden=True,
        dry_only=True,
    ),
    SyncOp(
        ("aten::_ctc_loss",),
        "ctc_loss",
        "lengths are copied to the device",
        "keep the lengths on the CPU, so that they are not copied back as well",
        hidden=True,
    ),
    SyncOp(
        ("aten::cross_entropy_loss",),
        "cross_entropy(x, target, weight, label_smoothing=)",
        "targets that do not count are left out, whose number only the device knows",
        "weight or label_smoothing, not both; or reduction='sum'",
        hidden=True,
        dry_only=True,
    ),
)
