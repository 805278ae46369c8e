# SPDX-License-Identifier: BSD-3-Clause
"""layer_launches.py: kernels of convolutions, normalizations, embeddings and pools.

How many a convolution has, cuDNN decides; the numbers are those of published traces of
ResNet-50 on a V100 and an A100 and of vision transformers on an H100.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Literal

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import (
    Launch,
    argument,
    blocks,
    dtype,
    inputs,
    nbytes,
    numel,
    results,
    tensors,
)
from torchtraceap_dryrun.estimate.plain_launches import Rule, moved
from torchtraceap_dryrun.record import Op, TensorInfo

# Of Winograd's F(4x4, 3x3): 36 products instead of 144, on tiles of 6x6 for 4x4.
_WINOGRAD_FLOPS = 4.0
_WINOGRAD_SPREAD = 2.25
# With fewer channels its transforms are fused with F(2x2, 3x3): 16 products for 36.
_WINOGRAD_CHANNELS = 64
_FUSED_FLOPS = 2.25
# A convolution of 1 x 1 is a plain product if the image has fewer pixels.
_LARGE_IMAGE = 28 * 28
# The kernel that works out offsets writes some 4-byte numbers for each output pixel.
_OFFSETS_BYTES = 2.0**16
# Tensor cores take channels in units of this many bytes; images have fewer.
_CHANNEL_BYTES = 16
# A block of a convolution computes this many pixels and channels.
_TILE = 128


def _conv_type(kind: str, gpu: Gpu) -> str:
    torch: Any = sys.modules.get("torch")
    if kind != "float32" or "tf32" not in gpu.flops:
        return kind
    return "tf32" if torch is None or torch.backends.cudnn.allow_tf32 else kind


def _channels_last(t: TensorInfo) -> bool:
    return len(t.shape) > 3 and t.stride[1] == 1 and t.shape[1] > 1


def _layout(name: str, t: TensorInfo, factor: float = 2.0) -> Launch:
    padded = len(t.shape) > 1 and t.shape[1] * t.item_bytes < _CHANNEL_BYTES
    if padded and t.item_bytes < 4:
        # Few channels are filled up to those that tensor cores take.
        channels = _CHANNEL_BYTES / (t.shape[1] * t.item_bytes)
        return Launch(f"{name} layout", "layout_image", t.dtype, 0.0,
                      (1 + channels) * t.nbytes)  # fmt: skip
    return Launch(
        f"{name} layout", "layout", t.dtype, 0.0, factor * t.nbytes, blocks(t.numel)
    )


def _pass(
    name: str, work: str, x: TensorInfo, w: TensorInfo, y: TensorInfo,
    of: Literal["x", "w", "y"], stride: int, gpu: Gpu,
) -> tuple[Launch, ...]:  # fmt: skip
    """Return the kernels that work out one of a convolution x * w = y."""
    # By its name: tensors of one form are one TensorInfo.
    operands = {"x": x, "w": w, "y": y}
    result = operands.pop(of)
    given = operands.values()
    kind = _conv_type(x.dtype, gpu)
    dense = w if w.shape[0] == y.shape[1] else None
    flops = 2.0 * math.prod(w.shape[1:]) * (y if dense else x).numel
    bytes_ = float(nbytes((x, w, y)))
    main = Launch(name, work, kind, flops, bytes_)
    pointwise = math.prod(w.shape[2:]) == 1 and stride == 1
    few = w.shape[1] * x.item_bytes < _CHANNEL_BYTES and dense is not None
    if few and kind == "tf32":  # Left to the plain kernels.
        kind = "float32"
        main = Launch(name, work, kind, flops, bytes_)
    elif few and kind != "float32":
        channels = y.shape[1]
        tiles = math.ceil(y.numel // channels / _TILE) * math.ceil(channels / _TILE)
        main = Launch(name, f"{work}_image", kind, flops, bytes_, tiles)
    # The gradient of small weights is worked out in parts.
    parts = Launch(f"{name} sum", "reduce", kind, 0.0, 4.0 * w.nbytes)
    if kind != "float32":
        if _channels_last(x) or (pointwise and kind == "tf32"):
            return (main, parts) if of == "w" else (main,)
        return *(_layout(name, t) for t in given), main, _layout(name, result)
    offsets = Launch(f"{name} offsets", "elementwise", "int32", 0.0, _OFFSETS_BYTES)
    winograd = w.shape[2:] == (3, 3) and stride == 1 and w.shape[1] > 3
    if winograd and of != "w" and min(w.shape[:2]) <= _WINOGRAD_CHANNELS:
        fused = Launch(name, work, kind, flops / _FUSED_FLOPS, bytes_)
        return _layout(name, w), fused
    if winograd:
        spread = 1 + _WINOGRAD_SPREAD
        inner = Launch(name, work, kind, flops / _WINOGRAD_FLOPS,
                       bytes_ * _WINOGRAD_SPREAD)  # fmt: skip
        return (*(_layout(name, t, spread) for t in given), inner,
                _layout(name, result, spread))  # fmt: skip
    if pointwise and of == "w":
        return main, parts
    plain = pointwise and of == "y" and math.prod(y.shape[2:]) < _LARGE_IMAGE
    return (main,) if plain else (offsets, main)


def convolution(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """A convolution, and the addition of its bias."""
    x, w, y = argument(op, 0, "input"), argument(op, 1, "weight"), results(op)[0]
    stride = max(argument(op, 3, "stride") or (1,))
    out = _pass(op.name, "conv", x, w, y, "y", stride, gpu)
    if next(tensors(argument(op, 2, "bias")), None) is None:
        return out
    bias = Launch(f"{op.name} bias", "elementwise", y.dtype, 0.0, 2.0 * y.nbytes,
                  blocks(y.numel))  # fmt: skip
    return *out, bias


def convolution_backward(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """The gradients of a convolution that are asked for."""
    y, x, w = (argument(op, i, "") for i in range(3))
    stride = max(argument(op, 4, "stride") or (1,))
    mask = argument(op, 10, "output_mask") or (True, True, False)
    out: tuple[Launch, ...] = ()
    if mask[0]:
        name = f"{op.name} input"
        out += _pass(name, "conv_backward", x, w, y, "x", stride, gpu)
    if mask[1]:
        name = f"{op.name} weight"
        out += _pass(name, "conv_backward", x, w, y, "w", stride, gpu)
    if mask[2]:
        out += (Launch(f"{op.name} bias", "reduce", y.dtype, 0.0, y.nbytes),)
    return out


# A softmax keeps rows of up to this many elements in registers.
_ROW = 1024
_ALIGNED_BYTES = 16
# Up to this many rows the gradient of an embedding needs no sort (EmbeddingBackward).
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
