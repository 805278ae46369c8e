# SPDX-License-Identifier: BSD-3-Clause
"""launches.py: the kernels that CUDA PyTorch launches for an operator: the one table.

An operator that changes its input in place, or writes into a given tensor, has the row
of the one that does not, unless it has its own. An operator without a row is looked up
by torch's own tags ("pointwise", "reduction").
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

from torchtraceap_dryrun.estimate import layer_launches as layer
from torchtraceap_dryrun.estimate import list_launches as lists
from torchtraceap_dryrun.estimate import matrix_launches as matrix
from torchtraceap_dryrun.estimate.gpus import GPUS, Gpu
from torchtraceap_dryrun.estimate.launch import Launch, inputs, results
from torchtraceap_dryrun.estimate.list_launches import collective, foreach
from torchtraceap_dryrun.estimate.plain_launches import (
    Rule,
    cat,
    chain,
    check,
    cloned_then,
    copy,
    loss,
    nothing,
    one,
    pointwise,
    put,
    reduction,
    sort,
    touches,
    writes,
)
from torchtraceap_dryrun.record import Op

_FILLS = writes()
_SORTS = chain("sort", "sort", "sort", "sort")
_ELEMENTWISE = one("elementwise")

#: The rows, each for several operators of aten; "_" at the end: in place only.
_ROWS: tuple[tuple[str, Rule], ...] = (
    # Values that the host reads are a copy by the driver.
    ("_local_scalar_dense item is_nonzero set_ resize_ record_stream"
     " _assert_tensor_metadata", nothing),
    ("_assert_async", check),
    ("empty empty_like empty_strided empty_permuted new_empty new_empty_strided"
     " _efficientzerotensor", nothing),
    # Values that come from no input.
    ("fill_ zero_ zeros ones full zeros_like ones_like full_like new_zeros new_ones"
     " new_full scalar_tensor arange linspace logspace eye rand randn randint"
     " rand_like randn_like randint_like uniform_ normal_ random_ bernoulli_"
     " exponential_ geometric_ cauchy_ log_normal_ tril_indices triu_indices", _FILLS),
    ("fill zero uniform normal random exponential bernoulli", _FILLS),
    ("randperm", chain("elementwise", "sort", "sort", "sort", "elementwise")),
    # Copies and moves.
    ("copy copy_ clone _to_copy contiguous lift_fresh_copy", copy),
    ("cat stack _chunk_cat", cat),
    ("repeat roll flip tril triu tril_ triu_ unfold_backward pixel_shuffle"
     " pixel_unshuffle channel_shuffle rot90 im2col col2im", one("copy")),
    ("constant_pad_nd slice_backward select_backward diagonal_backward"
     " as_strided_scatter", chain("elementwise", "copy")),
    ("slice_scatter select_scatter diagonal_scatter index_copy index_add index_fill"
     " scatter scatter_add scatter_reduce masked_fill masked_scatter index_put",
     cloned_then()),
    ("index_copy_ index_add_ index_fill_ scatter_ scatter_add_ scatter_reduce_"
     " masked_fill_", _ELEMENTWISE),
    # Rows picked, and rows put.
    ("index _unsafe_index index_select gather embedding take", touches("gather")),
    ("index_put_ _index_put_impl_", put),
    ("masked_scatter_ put_", touches("gather")),
    ("_embedding_bag _embedding_bag_forward_only", touches("gather", factor=4.0)),
    ("embedding_dense_backward", layer.embedding_backward),
    ("embedding_renorm_", chain("sort", "gather")),
    ("nonzero masked_select", chain("reduce", "elementwise", "elementwise")),
    ("_unique2 unique_dim unique_consecutive",
     chain("sort", "sort", "sort", "elementwise", "scan", "elementwise")),
    ("bincount histc multinomial", chain("elementwise", "reduce", "elementwise")),
    ("repeat_interleave", chain("scan", "gather")),
    # Orders and sums.
    ("sort argsort msort", sort),
    ("topk", chain("sort", "sort")),
    ("kthvalue median nanmedian mode", _SORTS),
    ("cumsum cumprod cummax cummin logcumsumexp _cummax_helper _cummin_helper",
     one("scan")),
    ("equal", chain("elementwise", "reduce")),
    ("complex polar searchsorted bucketize isin cdist _cdist_forward cross"
     " linalg_cross kron",
     _ELEMENTWISE),
    # Products.
    ("mm addmm mv addmv dot vdot _addmm_activation _int_mm _scaled_mm", matrix.mm),
    ("bmm baddbmm", matrix.bmm),
    ("_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention"
     " _scaled_dot_product_cudnn_attention"
     " _scaled_dot_product_fused_attention_overrideable", matrix.attention),
    ("_scaled_dot_product_flash_attention_backward"
     " _scaled_dot_product_efficient_attention_backward"
     " _scaled_dot_product_cudnn_attention_backward", matrix.attention_backward),
    ("_cudnn_rnn _cudnn_rnn_backward", matrix.rnn),
    ("_thnn_fused_lstm_cell _thnn_fused_gru_cell _thnn_fused_lstm_cell_backward_impl"
     " _thnn_fused_gru_cell_backward", _ELEMENTWISE),
    # Layers.
    ("convolution _convolution cudnn_convolution convolution_overrideable",
     layer.convolution),
    ("convolution_backward", layer.convolution_backward),
    ("native_batch_norm cudnn_batch_norm _native_batch_norm_legit"
     " _native_batch_norm_legit_functional _native_batch_norm_legit_no_training"
     " _batch_norm_with_update _batch_norm_no_update", layer.batch_norm),
    ("native_batch_norm_backward cudnn_batch_norm_backward batch_norm_backward",
     layer.batch_norm_backward),
    ("native_layer_norm _fused_rms_norm", layer.norm()),
    ("_softmax _log_softmax _masked_softmax _safe_softmax", layer.softmax),
    ("native_layer_norm_backward _fused_rms_norm_backward", layer.norm_backward),
    ("_softmax_backward_data _log_softmax_backward_data _masked_softmax_backward",
     layer.norm()),
    ("native_group_norm", layer.norm("parameters", "scale")),
    ("native_group_norm_backward",
     layer.norm("sums", "parameters", "weight", "bias")),
    ("max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d"
     " _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d"
     " adaptive_max_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d"
     " upsample_bilinear2d upsample_bicubic2d upsample_linear1d upsample_trilinear3d"
     " _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_nearest_exact2d"
     " grid_sampler_2d grid_sampler_3d reflection_pad1d reflection_pad2d"
     " replication_pad1d replication_pad2d affine_grid_generator", one("pool")),
    ("avg_pool2d_backward avg_pool3d_backward upsample_nearest2d_backward",
     one("pool")),
    ("max_pool2d_with_indices_backward max_pool3d_with_indices_backward"
     " adaptive_max_pool2d_backward _adaptive_avg_pool2d_backward"
     " upsample_bilinear2d_backward upsample_bicubic2d_backward"
     " grid_sampler_2d_backward grid_sampler_3d_backward reflection_pad2d_backward"
     " replication_pad2d_backward", layer.pool_backward),
    ("native_dropout native_dropout_backward _fused_dropout rrelu_with_noise glu"
     " glu_backward prelu _prelu_kernel log_sigmoid_forward log_sigmoid_backward",
     _ELEMENTWISE),
    ("_prelu_kernel_backward", chain("elementwise", "reduce")),
    # Losses.
    ("nll_loss_forward nll_loss2d_forward", one("reduce")),
    ("nll_loss_backward nll_loss2d_backward", _FILLS),
    ("mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss"
     " binary_cross_entropy", loss),
    ("mse_loss_backward smooth_l1_loss_backward huber_loss_backward"
     " soft_margin_loss_backward binary_cross_entropy_backward", _ELEMENTWISE),
    ("binary_cross_entropy_with_logits",
     chain(*("elementwise",) * 13, "reduce")),
    ("_ctc_loss _ctc_loss_backward", chain("elementwise", "elementwise", "reduce")),
    # Mixed precision, and lists of tensors.
    ("_amp_foreach_non_finite_check_and_unscale_", lists.unscale),
    ("_amp_update_scale_", _ELEMENTWISE),
    ("_fused_adam_ _fused_adamw_", lists.fused(3)),
    ("_fused_sgd_ _fused_adagrad_", lists.fused(2)),
    ("_foreach_copy_", lists.foreach_copy),
    ("_foreach_norm", lists.foreach_norm),
)  # fmt: skip

#: The rule of each operator that has a row.
TABLE: Mapping[str, Rule] = {
    name: rule for names, rule in _ROWS for name in names.split()
}


__all__ = ["Launch", "has_rule", "launches_of"]

_USUAL = GPUS["H100 SXM"]


def _tags(name: str, overload: str) -> frozenset[str]:
    """Return torch's tags of an operator; empty without torch or tags."""
    space, _, base = name.partition("::")
    try:
        import torch

        packet = getattr(getattr(torch.ops, space), base)
        found = getattr(packet, overload or "default")
    except (ImportError, AttributeError, RuntimeError):
        return frozenset()
    return frozenset(tag.name for tag in found.tags)


@functools.cache
def _rule(name: str, overload: str) -> Rule | None:
    """Return the rule of an operator: its row, its family's, or by torch's tags."""
    space, _, base = name.partition("::")
    if space == "c10d":
        return collective
    if space != "aten":
        return None
    for known in (base, base.removesuffix("_")):
        if known in TABLE:
            return TABLE[known]
    if base.startswith("_foreach_"):
        return foreach
    tags = _tags(name, overload)
    if "inplace_view" in tags:
        return nothing
    if "pointwise" in tags:
        return pointwise
    if "reduction" in tags:
        return reduction
    return None


def has_rule(op: Op) -> bool:
    """Return whether it is known what an operator launches."""
    return op.is_view or _rule(op.name, op.overload) is not None


def launches_of(op: Op, gpu: Gpu | None = None) -> tuple[Launch, ...]:
    """Return the kernels of an operator on a GPU, in the order of their launch.

    Copies between host and device are none of them: those are `op.copy`. An operator
    that no rule knows is one elementwise kernel, marked `by_default`; so is one whose
    rule does not understand its arguments.

    Args:
        gpu: The kernels of convolutions and products depend on it; an H100 if left out.
            TF32 is used where torch's settings at the moment of the call allow it.
    """
    if op.is_view:
        return ()
    rule = _rule(op.name, op.overload)
    if rule is None and not (inputs(op) or results(op)):
        return ()
    try:
        if rule is not None:
            return rule(op, gpu or _USUAL)
    except (AttributeError, IndexError, TypeError, ValueError):
        pass  # Arguments of a kind that the rule does not know.
    return tuple(
        dataclasses.replace(found, by_default=True)
        for found in pointwise(op, gpu or _USUAL)
    )
