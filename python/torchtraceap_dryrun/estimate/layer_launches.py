# SPDX-License-Identifier: BSD-3-Clause
"""layer_launches.py: kernels of normalizations, embeddings and pools."""

from __future__ import annotations

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import (
    Launch,
    argument,
    blocks,
    dtype,
    inputs,
    numel,
    results,
)
from torchtraceap_dryrun.estimate.plain_launches import Rule, moved
from torchtraceap_dryrun.record import Op

# A softmax keeps rows of up to so many elements in registers.
_ROW = 1024
_ALIGNED_BYTES = 16
# Up to so many rows the gradient of an embedding needs no sort (EmbeddingBackward).
_UNSORTED_ROWS = 3072
_SORT_KERNELS = 6


def batch_norm(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Batch normalization: by cuDNN one kernel that reads twice and writes.

    Without channels of pixels it is torch's own: statistics, their update, the rest.
    """
    x = argument(op, 0, "input")
    whole = Launch(op.name, "batch_norm", x.dtype, 0.0, 3.0 * x.nbytes)
    if len(x.shape) > 2:
        return (whole,)
    small = Launch(f"{op.name} statistics", "elementwise", "float32", 0.0, 0.0)
    return whole, small, small


def batch_norm_backward(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Its gradient: two inputs read twice, one result."""
    x = argument(op, 0, "grad_out")
    return (Launch(op.name, "batch_norm_backward", x.dtype, 0.0, 5.0 * x.nbytes),)


def norm(*extra: str) -> Rule:
    """Return the rule of a normalization of rows: one kernel, and small ones."""

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        x = max(inputs(op), key=lambda t: t.numel)
        row = x.shape[-1] if x.shape else 1
        rows = x.numel // max(row, 1)
        first = Launch(op.name, "norm", dtype(op), 0.0, moved(op), rows)
        return first, *(Launch(f"{op.name} {part}", "elementwise", dtype(op), 0.0, 0.0)
                        for part in extra)  # fmt: skip

    return rule


def softmax(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """A softmax over rows: long ones that are not aligned are read three times.

    Others stay in registers or shared memory (ATen/native/cuda/SoftMax.cu).
    """
    x = inputs(op)[0]
    row = x.shape[-1] if x.shape else 1
    again = row > _ROW and row * x.item_bytes % _ALIGNED_BYTES != 0
    passes = (4.0 if again else 2.0) * x.nbytes
    return (Launch(op.name, "norm", x.dtype, 0.0, passes, x.numel // max(row, 1)),)


def norm_backward(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """The gradient of the input, and that of weight and bias over all rows."""
    grad = argument(op, 0, "grad_out")
    first = Launch(op.name, "norm", grad.dtype, 0.0, 3.0 * grad.nbytes)
    mask = op.args[-1] if op.args and isinstance(op.args[-1], tuple) else ()
    if not any(mask[1:]) and mask:
        return (first,)
    second = Launch(f"{op.name} weight", "column_reduce", grad.dtype, 0.0,
                    2.0 * grad.nbytes)  # fmt: skip
    return first, second


def embedding_backward(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """The dense gradient of an embedding: zeros, and rows added to them."""
    grad, rows = argument(op, 0, "grad_output"), argument(op, 1, "indices")
    table = results(op)[0]
    zeros = Launch(f"{op.name} zeros", "elementwise", table.dtype, 0.0, table.nbytes,
                   blocks(table.numel))  # fmt: skip
    add = Launch(op.name, "gather", table.dtype, 0.0, 3.0 * grad.nbytes)
    if rows.numel <= _UNSORTED_ROWS:
        return zeros, add
    sort = Launch(f"{op.name} sort", "sort", "int64", 0.0, 4.0 * rows.nbytes)
    return zeros, *((sort,) * _SORT_KERNELS), add


def pool_backward(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """The gradient of a pooling: zeros, then sums."""
    out = results(op)[0]
    zeros = Launch(f"{op.name} zeros", "elementwise", out.dtype, 0.0, out.nbytes,
                   blocks(numel(op)))  # fmt: skip
    return zeros, Launch(op.name, "pool", out.dtype, 0.0, moved(op))
