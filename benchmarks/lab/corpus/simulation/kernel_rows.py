# SPDX-License-Identifier: BSD-3-Clause
"""kernel_rows.py: launches as a profiler writes them: name, grid, block, registers.

A dry run knows the class of a kernel. Its name here is one that PyTorch's own kernels,
cuBLAS or cuDNN have on such a device, drawn by the operator, so that one operator's
kernels keep theirs.
"""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import Launch

#: Classes whose kernels come from a library, with tiles.
HEAVY = frozenset(
    ("gemm", "gemm_unaligned", "gemv", "bmm", "bmm_unaligned", "attention",
     "attention_backward", "conv", "conv_backward", "conv_image",
     "conv_backward_image")
)  # fmt: skip

_TYPES = {"float32": "float", "tf32": "float", "float16": "c10::Half",
          "bfloat16": "c10::BFloat16", "float64": "double", "int64": "long",
          "int32": "int", "bool": "bool"}  # fmt: skip
_NATIVE = "void at::native::"
_HIDDEN = f"{_NATIVE}(anonymous namespace)::"
_CUB = "void at_cuda_detail::cub::"
_FLASH = "Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>"


def kernel_name(launch: Launch, operator: str, gpu: Gpu, draw: int) -> str:
    """Name a launch of an operator; `draw` picks among names for the same."""
    if launch.work in HEAVY:
        return _of_library(launch, gpu, draw)
    base = operator.rpartition("::")[2].strip("_") or "op"
    kind = _TYPES.get(launch.dtype, "float")
    functor = "".join(word.capitalize() for word in base.split("_"))
    lists = 2 + draw % 3
    names = {
        "lists": f"{_HIDDEN}multi_tensor_apply_kernel<TensorListMetadata<{lists}>, "
        f"{functor}Functor<{kind}, {lists}, 1, 0> >",
        "reduce": f"{_NATIVE}reduce_kernel<512, 1, ReduceOp<{kind}, func_wrapper_t<"
        f"{kind}, {base}_functor<{kind}> >, unsigned int, {kind}, 4> >",
        "copy": f"{_NATIVE}unrolled_elementwise_kernel<direct_copy_kernel_cuda("
        f"TensorIteratorBase&)::{{lambda({kind})#1}}, std::array<char*, 2ul>, 4>",
        "cat": f"{_HIDDEN}CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, {lists}, "
        "64, 64>",
        "gather": f"{_HIDDEN}indexSelectLargeIndex<{kind}, long, unsigned int, 2, 2>"
        if draw % 2
        else f"{_NATIVE}index_elementwise_kernel<128, 4, {kind}>",
        "sort": f"{_CUB}DeviceRadixSortOnesweepKernel<{kind}, long>",
        "scan": f"{_CUB}DeviceScanKernel<{kind}, int>",
        "pool": f"{_HIDDEN}{base}_out_cuda_frame<{kind}, {kind}>",
        "layout": f"void cudnn::ops::nchwToNhwcKernel<{kind}, {kind}, float, false>",
        "norm": _norm(base, kind),
        "batch_norm": "void cudnn::bn_fw_tr_1C11_singleread_kernel_NCHW<"
        f"{kind}, float, int, 512, true, 1>",
        "batch_norm_backward": "void cudnn::bn_bw_1C11_singleread_kernel_NCHW<"
        f"{kind}, float, int, 512, true, 1>",
    }
    names["column_reduce"] = names["reduce"]
    names["layout_image"] = names["layout"]
    which = "vectorized" if launch.work == "elementwise" else "unrolled"
    plain = (
        f"{_NATIVE}{which}_elementwise_kernel<4, {functor}Functor<{kind}>, "
        f"std::array<char*, {2 + draw % 2}ul> >"
    )
    return names.get(launch.work, plain)


def _norm(base: str, kind: str) -> str:
    if "softmax" in base:
        side = "backward" if "backward" in base else "forward"
        kinds = f"{kind}, {kind}, float, 8, true, false"
        return f"void (anonymous namespace)::softmax_warp_{side}<{kinds}>"
    if "group" in base:
        return f"{_HIDDEN}RowwiseMomentsCUDAKernel<{kind}>"
    if "backward" in base:
        return f"{_HIDDEN}layer_norm_grad_input_kernel<{kind}, float>"
    return f"{_HIDDEN}vectorized_layer_norm_kernel<{kind}, float>"


def _of_library(launch: Launch, gpu: Gpu, draw: int) -> str:
    work, dtype = launch.work, launch.dtype
    chip = {7: "volta", 8: "ampere", 9: "sm90"}[gpu.compute_capability[0]]
    chip = "turing" if gpu.compute_capability == (7, 5) else chip
    tile = ("128x128", "128x64", "64x64", "256x128", "64x32")[draw % 5]
    turn = ("nn", "nt", "tn")[draw // 5 % 3]
    half = dtype in ("float16", "bfloat16")
    if work.startswith("attention"):
        side = "backward" if "backward" in work else "forward"
        if half:
            way = "bwd_dq_dk_dv_loop_seqk_parallel" if side == "backward" else "fwd"
            return f"void pytorch_flash::flash_{way}_kernel<{_FLASH} >"
        return f"fmha_cutlass{side[0].upper()}_f32_aligned_64x64_rf_{chip}"
    if work == "gemv":
        return "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16>"
    old = chip in ("volta", "turing")
    if "conv" in work:
        way = ("dgrad", "wgrad")[draw % 2] if "backward" in work else "fprop"
        if dtype == "float32" or (old and not half):
            return f"{chip}_scudnn_{tile}_relu_interior_{turn}_v1"
        if old:
            return f"{chip}_fp16_s884cudnn_fp16_{tile}_ldg8_relu_f2f_exp_{turn}_v1"
        kind = "f16f16_f16f32_f32" if half else "tf32f32_tf32f32_f32"
        return (
            f"sm80_xmma_{way}_implicit_gemm_{kind}_nhwckrsc_nchw_tilesize{tile}x16_"
            "stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn"
        )
    if dtype == "float32" or (old and not half):
        return f"{chip}_sgemm_{tile}_{turn}"
    if half and chip == "sm90":
        return f"nvjet_hsh_{tile}_64x4_2x1_v_bz_{turn.upper()}T"
    if old:
        return f"{chip}_fp16_s884gemm_fp16_{tile}_ldg8_f2f_{turn}"
    kind = "fp16_s16816" if half else "s1688"
    odd = work.endswith("_unaligned")
    if odd or draw % 3 == 0:
        align = 1 if odd else 8 if half else 4
        name = f"cutlass_80_tensorop_{kind}gemm_{tile}_16x4_{turn}_align{align}"
        return f"void cutlass::Kernel2<{name}>({name}::Params)"
    return f"ampere_{kind}gemm_{tile}_ldg8_f2f_stages_32x5_{turn}"


# Threads of a block and registers of a thread, by class; shared memory in bytes.
_BLOCKS = {
    "elementwise": (128, 32), "strided": (128, 40), "copy": (128, 32),
    "cat": (128, 34), "gather": (128, 32), "reduce": (512, 32), "norm": (256, 40),
    "column_reduce": (512, 48), "scan": (256, 40), "sort": (256, 60),
    "lists": (512, 48), "batch_norm": (512, 38), "batch_norm_backward": (512, 44),
    "pool": (256, 36), "layout": (256, 34), "layout_image": (256, 40),
}  # fmt: skip
_SHARED = {
    "reduce": 16, "norm": 48, "column_reduce": 4096, "batch_norm": 1024,
    "batch_norm_backward": 2048, "layout": 8704, "sort": 16384, "scan": 2064,
}  # fmt: skip


@dataclass(frozen=True)
class KernelRow:
    """What is recorded of a launch, beside its time."""

    name: str
    args: str
    blocks_per_sm: float


class KernelRows:
    """Names and describes the launches of one run, for one GPU."""

    def __init__(self, gpu: Gpu, seed: int) -> None:
        self._gpu, self._seed = gpu, seed
        self._known: dict[tuple[Launch, str, float], KernelRow] = {}

    def row(self, launch: Launch, operator: str, blocks: float = 1.0) -> KernelRow:
        """Describe a launch of an operator, with `blocks` times its blocks."""
        key = (launch, operator, blocks)
        if key not in self._known:
            self._known[key] = self._row(launch, operator, blocks)
        return self._known[key]

    def _row(self, launch: Launch, operator: str, share: float) -> KernelRow:
        gpu = self._gpu
        draw = zlib.crc32(f"{self._seed}{operator}{launch.work}".encode())
        heavy = launch.work in HEAVY
        threads, registers = (
            ((128, 256, 384)[draw % 3], (90, 122, 168, 232)[draw // 3 % 4])
            if heavy
            else _BLOCKS.get(launch.work, (128, 32))
        )
        shared = (32768, 49152, 73728, 98304)[draw % 4] if heavy else 0
        shared = min(shared, 49152 if gpu.compute_capability < (8, 0) else shared)
        shared = shared or _SHARED.get(launch.work, 0)
        total = launch.blocks or max(1, math.ceil(launch.nbytes / 16384))
        total = max(1, round(total * share))
        grid = [total, 1, 1]
        if heavy and total > 3:
            grid = [math.ceil(total / 2), 2, 1]
        if grid[0] > 2**31 - 1:
            grid = [65535, math.ceil(total / 65535), 1]
        blocks = math.prod(grid) / gpu.multiprocessors
        fit = min(
            gpu.threads_per_multiprocessor // threads,
            65536 // (registers * threads),
            167936 // shared if shared else 32,
        )
        resident = min(max(fit, 1), blocks)
        occupancy = 100 * resident * threads / gpu.threads_per_multiprocessor
        args = {
            "queued": 0,
            "registers per thread": registers,
            "shared memory": shared,
            "warps per SM": round(blocks * threads / 32, 6),
            "grid": grid,
            "block": [threads, 1, 1],
            "est. achieved occupancy %": min(100, round(occupancy)),
        }
        name = kernel_name(launch, operator, gpu, draw)
        return KernelRow(name, json.dumps(args)[1:-1], blocks)
