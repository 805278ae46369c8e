# SPDX-License-Identifier: BSD-3-Clause
"""kernels.py: what operators run on a device, and how long it takes there.

A kernel takes what it starts with and the longer of its arithmetic and its memory
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
