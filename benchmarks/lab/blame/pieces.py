# SPDX-License-Identifier: BSD-3-Clause
"""pieces.py: the operators that models consist of, and the kernels that they run.

A kernel takes its startup time plus the longer of its arithmetic and its memory
traffic, at the part of the device's peak that such kernels reach.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.lab.blame.gpus import Gpu

_START_US = 1.8  # A kernel without work takes about as long on every device.
_NAMES = {
    "relu": "clamp_min_scalar_kernel_impl",
    "gelu": "GeluCUDAKernelImpl",
    "silu": "silu_kernel",
    "add": "CUDAFunctor_add<c10::BFloat16>",
    "mul": "AUnaryFunctor<c10::BFloat16, binary_internal::MulFunctor>",
    "fill": "FillFunctor<float>",
    "sqrt": "sqrt_kernel_cuda",
    "addcmul": "addcmul_cuda_kernel",
    "addcdiv": "addcdiv_cuda_kernel",
    "lerp": "lerp_scalar_kernel",
    "sigmoid": "sigmoid_kernel_cuda",
    "tanh": "tanh_kernel_cuda",
    "relu_back": "threshold_kernel_impl",
    "gelu_back": "GeluBackwardCUDAKernelImpl",
    "cast": "bfloat16_copy_kernel_cuda",
    "copy": "direct_copy_kernel_cuda",
}


@dataclass(frozen=True)
class Kernel:
    """What a kernel does; its time depends on the device."""

    name: str
    flops: float = 0.0
    bytes: float = 0.0
    blocks: int = 1
    threads: int = 128
    registers: int = 32
    shared: int = 0
    reach: float = 0.6  #: Of the device's peak.

    def us(self, gpu: Gpu, rng: random.Random) -> float:
        """Draw its time."""
        compute = self.flops / (gpu.tflops * 1e6 * self.reach)
        memory = self.bytes / (gpu.bandwidth * 1e3 * self.reach)
        return (_START_US + max(compute, memory)) * rng.lognormvariate(0, gpu.noise)

    def occupancy(self, gpu: Gpu) -> int:
        """The share of a multiprocessor's threads that it has room for, in percent."""
        fit = gpu.threads // self.threads
        fit = min(fit, 65536 // (max(self.registers, 1) * self.threads))
        if self.shared:
            fit = min(fit, gpu.shared // self.shared)
        resident = min(fit, self.blocks / gpu.sms)
        return min(100, round(100 * resident * self.threads / gpu.threads))


def elementwise(what: str, numel: float, reads: int = 1, size: int = 2) -> Kernel:
    """A kernel that reads and writes each element."""
    name = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::"
        f"{_NAMES.get(what, what)}, std::array<char*, {reads + 1}ul> >(int)"
    )
    blocks = max(1, int(numel / 512))
    return Kernel(name, 0, numel * size * (reads + 1), blocks, 128, 32, reach=0.75)


def norm(what: str, numel: float, passes: int = 3) -> Kernel:
    """A kernel that reduces rows."""
    blocks = max(1, int(numel / 1024))
    return Kernel(what, 0, numel * 2 * passes, blocks, 256, 40, 512, reach=0.6)


def reduction(numel: float, name: str = "sum_functor") -> Kernel:
    """A kernel that adds up columns."""
    full = f"void at::native::reduce_kernel<128, 4, at::native::{name}<float> >()"
    blocks = max(1, int(numel / 4096))
    return Kernel(full, 0, numel * 2, blocks, 512, 32, 4096, reach=0.5)


def gemm(gpu: Gpu, m: float, n: float, k: float) -> Kernel:
    """A matrix product on the device's matrix units."""
    if gpu.amd:
        name = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI16x16x16x1_SN_1LDSB0"
    elif gpu.capability[0] < 8:
        name = "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn"
    elif gpu.capability[0] == 9:
        name = "nvjet_hsh_128x128_64x6_2x1_v_bz_TNT"
    else:
        name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
    tile = 128 if m * n >= 128 * 128 * gpu.sms else 64
    blocks = max(gpu.sms, int(-(-m // tile) * -(-n // tile)))
    moved = 2 * (m * k + k * n + m * n)
    return Kernel(name, 2 * m * n * k, moved, blocks, 256, 128, 49152, reach=0.55)


def convolution(gpu: Gpu, flops: float, numel: float, way: str = "fprop") -> Kernel:
    """A convolution of the vendor's library."""
    name = (
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32"
        if gpu.amd
        else "sm80_xmma_fprop_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc"
    ).replace("fprop", way)
    blocks = max(gpu.sms, int(numel / 16384))
    return Kernel(name, flops, numel * 6, blocks, 256, 160, 49152, reach=0.45)


def flash(flops: float, numel: float, way: str = "fwd") -> Kernel:
    """Fused attention."""
    name = f"void pytorch_flash::flash_{way}_kernel<Flash_kernel_traits<128, 128, 64> >"
    return Kernel(name, flops, numel * 8, max(256, int(numel / 16384)), 128, 255, 81920)


def multi_tensor(
    numel: float, reads: int, name: str = "FusedAdamMathFunctor"
) -> Kernel:
    """A kernel that goes through many tensors."""
    full = f"void at::native::multi_tensor_apply_kernel<at::native::{name}<float, 4> >"
    blocks = max(1, int(numel / 65536))
    return Kernel(full, 0, numel * 4 * reads, blocks, 512, 48, 0, reach=0.7)


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
