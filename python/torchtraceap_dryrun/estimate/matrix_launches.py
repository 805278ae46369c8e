# SPDX-License-Identifier: BSD-3-Clause
"""matrix_launches.py: kernels of matrix products and of attention."""

from __future__ import annotations

import math
import sys
from typing import Any

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import (
    Launch,
    argument,
    blocks,
    inputs,
    nbytes,
    results,
    tensors,
)
from torchtraceap_dryrun.record import Op, TensorInfo

# A product whose result has few tiles but long sums is cut along the sum, and a second
# kernel adds the parts: where the sum is at least this many times the number of tiles,
# by item size. For float32 and TF32 from the products of an A100, for 16 bits from
# those of an H100.
_TILE = 64
_SPLIT = {4: 16, 2: 256}
# Tensor cores read this many bytes at once; other row lengths take a slow path.
_ALIGNED_BYTES = 16
# Queries per block of fused attention.
_QUERIES = 128


def product_type(dtype: str, gpu: Gpu) -> str:
    """Return what a matrix product of a data type is computed in.

    Asks torch whether it may use TF32 for float32.
    """
    torch: Any = sys.modules.get("torch")
    if dtype != "float32" or "tf32" not in gpu.flops or torch is None:
        return dtype
    return "float32" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def product(
    name: str, m: int, n: int, k: int, kind: TensorInfo, gpu: Gpu, extra: int = 0
) -> tuple[Launch, ...]:
    """Return the kernels of a product m x k by k x n."""
    if not m * n:
        return ()
    dtype = product_type(kind.dtype, gpu)
    size = kind.item_bytes
    moved = size * (m * k + k * n + m * n) + extra
    aligned = all(side * size % _ALIGNED_BYTES == 0 for side in (n, k))
    work = "gemm" if aligned else "gemm_unaligned"
    if m == 1 or n == 1:
        work = "gemv"
    main = Launch(name, work, dtype, 2.0 * m * n * k, moved)
    tiles = math.ceil(m / _TILE) * math.ceil(n / _TILE)
    out = [main]
    if k >= _SPLIT.get(size, math.inf) * tiles:
        out.append(Launch(f"{name} sum", "reduce", dtype, 0.0, 4.0 * size * m * n))
    if extra and gpu.compute_capability < (8, 0):
        # Only newer ones add a bias within the product.
        out.append(Launch(f"{name} bias", "elementwise", dtype, 0.0,
                          2.0 * size * m * n, blocks(m * n)))  # fmt: skip
    return tuple(out)


def mm(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """mm, mv, dot: the first two matrices; addmm: those behind the first."""
    first = 1 if op.name.startswith("aten::add") else 0
    a, b = (argument(op, first + i, name) for i, name in enumerate(("mat1", "mat2")))
    m = a.shape[0] if len(a.shape) > 1 else 1
    n = b.shape[1] if len(b.shape) > 1 else 1
    bias = next(tensors(op.args[0]), None) if first else None
    extra = bias.nbytes if bias else 0
    return product(op.name, m, n, a.shape[-1], a, gpu, extra)


def bmm(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """bmm and baddbmm: many products in one kernel."""
    first = 1 if "add" in op.name else 0
    a, b = argument(op, first, "self"), argument(op, first + 1, "mat2")
    batch, m, k = a.shape
    n = b.shape[2]
    moved = nbytes(inputs(op)) + a.item_bytes * batch * m * n
    dtype = product_type(a.dtype, gpu)
    if not batch * m * n:
        return ()
    aligned = all(side * a.item_bytes % _ALIGNED_BYTES == 0 for side in (m, n, k))
    work = "bmm" if aligned or dtype in ("float32", "tf32") else "bmm_unaligned"
    return (Launch(op.name, work, dtype, 2.0 * batch * m * n * k, moved),)


def _attention(op: Op, first: int) -> tuple[float, float, TensorInfo, int]:
    """Return FLOPs of the forward pass, bytes of q, k, v and result, q and tiles."""
    q, k, v = (
        argument(op, first + i, name)
        for i, name in enumerate(("query", "key", "value"))
    )
    *batch, queries, width = q.shape
    keys, value_width = v.shape[-2:]
    flops = 2.0 * math.prod(batch) * queries * keys * (width + value_width)
    causal = any(
        value is True for value in (op.kwargs.get("is_causal"), *op.args[first + 3 :])
    )
    if causal and queries == keys:  # What is above the diagonal is left out by tiles.
        tiles = math.ceil(queries / _QUERIES)
        flops *= (tiles + 1) / (2 * tiles)
    moved = nbytes((q, k, v)) + q.nbytes
    return flops, moved, q, math.prod(batch) * math.ceil(queries / _QUERIES)


def attention(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Fused attention: one kernel."""
    flops, moved, q, tiles = _attention(op, 0)
    return (Launch(op.name, "attention", q.dtype, flops, moved, tiles),)


def attention_backward(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Fused attention's gradients: five products where forward has two.

    FlashAttention has a kernel before, for the sums of gradient times result, and one
    after, which casts the gradient of the queries; the memory-efficient one the first
    only.
    """
    flops, moved, q, tiles = _attention(op, 1)
    main = Launch(
        op.name, "attention_backward", q.dtype, 2.5 * flops, 3.0 * moved, tiles
    )
    before = Launch(f"{op.name} sums", "elementwise", q.dtype, 0.0, 2.0 * q.nbytes,
                    blocks(q.numel))  # fmt: skip
    if "efficient" in op.name:
        return before, main
    after = Launch(f"{op.name} cast", "elementwise", q.dtype, 0.0, 3.0 * q.nbytes,
                   blocks(q.numel))  # fmt: skip
    return before, main, after


def rnn(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """cuDNN's recurrent nets: a product for all inputs of a layer, two kernels a step.

    From knowledge, not measured: cuDNN has faster ways for some sizes.
    """
    x, weights = argument(op, 0, "input"), list(tensors(argument(op, 1, "weight")))
    flat = [t for t in weights if len(t.shape) > 1]
    backward = "backward" in op.name
    batch_first = argument(op, 14 if backward else 10, "batch_first")
    steps = max(x.shape[1 if batch_first and len(x.shape) > 2 else 0], 1)
    batch = x.numel // (steps * max(x.shape[-1], 1))
    out: list[Launch] = []
    for number, weight in enumerate(flat):
        flops = 2.0 * weight.numel * batch * (2 if backward else 1)
        if number % 2 == 0:
            out.append(Launch(f"{op.name} inputs", "gemm", x.dtype, flops * steps,
                              weight.nbytes + 2.0 * x.nbytes))  # fmt: skip
            continue
        state = 4.0 * weight.shape[0] * batch * x.item_bytes
        out += [
            Launch(f"{op.name} step", "gemm", x.dtype, flops, weight.nbytes + state),
            Launch(f"{op.name} cell", "elementwise", x.dtype, 0.0, 2 * state),
        ] * steps
    return tuple(out) or (Launch(op.name, "gemm", x.dtype, 0.0, nbytes(results(op))),)
