# SPDX-License-Identifier: BSD-3-Clause
"""operator_rows.py: operators as a recording shows them: the operators around them, and
their fields.

A dry run sees what reaches the device's own kernels; a profiler also sees the
composite operators that led there.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from torchtraceap_dryrun.record import Op
from torchtraceap_dryrun.timeline.rows import members, operator_args

# Around an operator of the forward pass, the outermost first.
_OUTER = {
    "aten::addmm": ("aten::linear",),
    "aten::mm": ("aten::matmul",),
    "aten::bmm": ("aten::matmul",),
    "aten::convolution": ("aten::conv2d",),
    "aten::_to_copy": ("aten::to",),
    "aten::native_layer_norm": ("aten::layer_norm",),
    "aten::native_group_norm": ("aten::group_norm",),
    "aten::native_batch_norm": ("aten::batch_norm", "aten::_batch_norm_impl_index"),
    "aten::cudnn_batch_norm": ("aten::batch_norm", "aten::_batch_norm_impl_index"),
    "aten::_softmax": ("aten::softmax",),
    "aten::_log_softmax": ("aten::log_softmax",),
    "aten::nll_loss_forward": ("aten::cross_entropy_loss", "aten::nll_loss_nd"),
    "aten::_local_scalar_dense": ("aten::item",),
    "aten::max_pool2d_with_indices": ("aten::max_pool2d",),
    "aten::_scaled_dot_product_flash_attention": (
        "aten::scaled_dot_product_attention",
    ),
    "aten::_scaled_dot_product_efficient_attention": (
        "aten::scaled_dot_product_attention",
    ),
    "aten::native_dropout": ("aten::dropout",),
    "aten::index": (),
}
# Inside it: what launches is the last of these.
_INNER = {
    "aten::convolution": ("aten::_convolution", "aten::cudnn_convolution"),
    "aten::_to_copy": ("aten::copy_",),
    "aten::clone": ("aten::copy_",),
    "aten::zero_": ("aten::fill_",),
    "aten::zeros": ("aten::zero_", "aten::fill_"),
    "aten::ones": ("aten::fill_",),
    "aten::zeros_like": ("aten::zero_", "aten::fill_"),
    "aten::new_zeros": ("aten::zero_", "aten::fill_"),
    "aten::t": ("aten::transpose", "aten::as_strided"),
    "aten::transpose": ("aten::as_strided",),
    "aten::expand": ("aten::as_strided",),
    "aten::select": ("aten::as_strided",),
    "aten::slice": ("aten::as_strided",),
    "aten::unsqueeze": ("aten::as_strided",),
    "aten::permute": ("aten::as_strided",),
    "aten::stack": ("aten::cat",),
    "aten::contiguous": ("aten::clone", "aten::copy_"),
    "aten::_scaled_dot_product_flash_attention": ("aten::_flash_attention_forward",),
    "aten::embedding": ("aten::index_select",),
}
# Views and memory that it takes on the way, as rows inside each other.
_LIGHT = {
    "aten::linear": ("aten::t", "aten::transpose", "aten::as_strided"),
    "aten::_to_copy": ("aten::empty_strided",),
    "aten::clone": ("aten::empty_like", "aten::empty_strided"),
    "aten::cudnn_convolution": ("aten::empty",),
    "aten::zeros": ("aten::empty",),
    "aten::new_zeros": ("aten::new_empty", "aten::empty"),
    "aten::zeros_like": ("aten::empty_like", "aten::empty_strided"),
    "aten::native_layer_norm": ("aten::empty",),
    "aten::native_group_norm": ("aten::empty",),
    "aten::convolution_backward": ("aten::empty",),
    "aten::cat": ("aten::narrow", "aten::slice", "aten::as_strided"),
    "aten::sum": ("aten::as_strided",),
    "aten::_local_scalar_dense": (),
}


def rows_of(name: str, phase: str) -> tuple[tuple[str, ...], str]:
    """Return the operators around the one that launches, and its name."""
    outer = _OUTER.get(name, ()) if phase != "backward" else ()
    chain = (*outer, name, *_INNER.get(name, ()))
    return chain[:-1], chain[-1]


def light_rows(name: str) -> tuple[str, ...]:
    """Return what an operator calls that launches nothing, the outermost first."""
    return _LIGHT.get(name, ())


def args_of(op: Op) -> str:
    """Return shapes, strides and types; nothing of modules or lines."""
    plain = Op(
        op.name, op.overload, op.args, op.kwargs, op.outputs, op.step, op.phase,
        None, "", op.stream,
    )  # fmt: skip
    return operator_args(plain)


def shapes_text(dims: list[list[int]], kind: str = "float") -> str:
    """Return the same of an operator that no dry run saw."""
    values: dict[str, Any] = {
        "Input Dims": dims,
        "Input type": [kind if one else "" for one in dims],
        "Concrete Inputs": [""] * len(dims),
    }
    return members(values)


_CLASSES = (
    ("collective", r"^(c10d|nccl|record_param_comms)"),
    ("optimizer", r"_foreach_|_fused_|_amp_"),
    ("convolution", r"conv"),
    ("matrix", r"::(mm|addmm|bmm|baddbmm|linear|matmul|einsum)"),
    ("attention", r"attention|flash"),
    ("norm", r"norm|softmax|cross_entropy|nll_loss"),
    ("copy", r"::(copy_|_to_copy|to|contiguous|clone|cat|stack)$"),
    ("fill", r"zero|fill|ones|full|empty|random|normal_|uniform_"),
    ("gather", r"index|gather|scatter|embedding|select|sort|topk|nonzero|where"),
    ("reduction", r"::_?(sum|mean|max|min|std|var|all|any|argmax|amax|prod|cumsum)"),
)


@cache
def operator_class(name: str) -> str:
    """Return the class of an operator; "elementwise" if it is in none."""
    for known, pattern in _CLASSES:
        if re.search(pattern, name):
            return known
    return "elementwise"
