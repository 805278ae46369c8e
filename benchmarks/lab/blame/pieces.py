# SPDX-License-Identifier: BSD-3-Clause
"""pieces.py: the operators that models consist of, forward and backward."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.lab.blame.gpus import Gpu
from benchmarks.lab.blame.kernels import (
    Kernel,
    convolution,
    elementwise,
    flash,
    gemm,
    norm,
    reduction,
)

Op = tuple[tuple[str, ...], tuple[Kernel, ...]]  #: Nested names, and what it runs.


@dataclass(frozen=True)
class Piece:
    """A call of a module, with what its backward pass runs."""

    module: str
    ops: tuple[Op, ...]
    node: str = ""  #: Of autograd; "" if its backward pass runs nothing.
    back: tuple[Op, ...] = ()
    parameters: tuple[int, ...] = ()


def linear(gpu: Gpu, rows: float, wide: int, out: int) -> Piece:
    """A product with a weight."""
    return Piece(
        "Linear",
        ((("aten::linear", "aten::addmm"), (gemm(gpu, rows, out, wide),)),),
        "AddmmBackward0",
        (
            (("aten::mm",), (gemm(gpu, rows, wide, out),)),
            (("aten::mm",), (gemm(gpu, wide, out, rows),)),
            (("aten::sum",), (reduction(rows * out),)),
        ),
        (wide * out, out),
    )


def conv(gpu: Gpu, pixels: float, channels: int, kernel: int = 3) -> Piece:
    """A convolution that keeps its size."""
    flops = 2 * pixels * channels * channels * kernel * kernel
    numel = pixels * channels
    names = ("aten::conv2d", "aten::convolution", "aten::_convolution")
    inner = "aten::miopen_convolution" if gpu.amd else "aten::cudnn_convolution"
    return Piece(
        "Conv2d",
        (((*names, inner), (convolution(gpu, flops, numel),)),),
        "ConvolutionBackward0",
        (
            (
                ("aten::convolution_backward",),
                (
                    convolution(gpu, flops, numel, "dgrad"),
                    convolution(gpu, flops, numel, "wgrad"),
                ),
            ),
        ),
        (channels * channels * kernel * kernel,),
    )


def batch_norm(gpu: Gpu, numel: float, channels: int) -> Piece:
    """Batch norm, with the addition and the activation that follow fused into it."""
    name = "MIOpenBatchNorm" if gpu.amd else "cudnn::batchnorm_"
    names = (
        "aten::batch_norm",
        "aten::_batch_norm_impl_index",
        "aten::cudnn_batch_norm",
    )
    return Piece(
        "BatchNorm2d",
        (
            (
                names,
                (norm(f"void {name}fwtr_nhwc_semiPersist<bf16, 512, 1, 2>", numel),),
            ),
        ),
        "CudnnBatchNormBackward0",
        (
            (
                ("aten::cudnn_batch_norm_backward",),
                (norm(f"void {name}bwtr_nhwc_semiPersist<bf16, 512, 1, 2>", numel, 5),),
            ),
        ),
        (channels, channels),
    )


def layer_norm(numel: float, wide: int) -> Piece:
    """Layer norm."""
    forward = (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<bf16>"
    )
    backward = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel"
    return Piece(
        "LayerNorm",
        ((("aten::layer_norm", "aten::native_layer_norm"), (norm(forward, numel),)),),
        "NativeLayerNormBackward0",
        ((("aten::native_layer_norm_backward",), (norm(backward, numel, 4),)),),
        (wide, wide),
    )


def activation(what: str, numel: float) -> Piece:
    """An activation: relu, gelu, silu."""
    back = (
        ("aten::threshold_backward",) if what == "relu" else (f"aten::{what}_backward",)
    )
    return Piece(
        {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}.get(what, what),
        (((f"aten::{what}",), (elementwise(what, numel),)),),
        f"{what.capitalize()}Backward0",
        ((back, (elementwise(f"{what}_back", numel, 2),)),),
    )


def add(numel: float) -> Piece:
    """A residual connection; its backward pass hands the gradient on."""
    return Piece("", ((("aten::add",), (elementwise("add", numel, 2),)),))


def attention(numel: float, sequence: float) -> Piece:
    """Fused attention over a sequence."""
    flops = 4 * numel * sequence
    names = ("aten::scaled_dot_product_attention",
             "aten::_scaled_dot_product_flash_attention",
             "aten::_flash_attention_forward")  # fmt: skip
    return Piece(
        "Attention",
        ((names, (flash(flops, numel),)),),
        "ScaledDotProductFlashAttentionBackward0",
        (
            (
                ("aten::_scaled_dot_product_flash_attention_backward",),
                (flash(2.5 * flops, numel, "bwd"),),
            ),
        ),
    )


def gather(numel: float, rows: int = 0) -> Piece:
    """Rows of a table: an embedding, or the ends of a graph's edges."""
    blocks = max(1, int(numel / 2048))
    name = "void at::native::(anonymous namespace)::indexSelectLargeIndex<bf16, long>"
    kernel = Kernel(name, 0, numel * 4, blocks, 128, 32, reach=0.4)
    name = "void at::native::embedding_backward_feature_kernel<bf16, float, long>"
    back = Kernel(name, 0, numel * 6, blocks, 128, 40, reach=0.3)
    return Piece(
        "Embedding",
        ((("aten::embedding", "aten::index_select"), (kernel,)),),
        "EmbeddingBackward0",
        ((("aten::embedding_dense_backward",), (back,)),),
        (rows,) if rows else (),
    )


def scatter(numel: float) -> Piece:
    """Adds up rows by an index."""
    name = "void scatter_kernel<float, (ReductionType)0>"
    kernel = Kernel(name, 0, numel * 8, max(1, int(numel / 1024)), 128, 32, reach=0.35)
    return Piece(
        "",
        ((("aten::scatter_add_",), (kernel,)),),
        "ScatterAddBackward0",
        ((("aten::gather",), (kernel,)),),
    )


def named(name: str, kernel: str, numel: float, module: str = "") -> Piece:
    """An operator of a library's own, without a backward pass."""
    return Piece(module, (((name,), (norm(kernel, numel, 3),)),))
