# SPDX-License-Identifier: BSD-3-Clause
"""kernel_errors.py: estimated kernel times against those of published traces."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.dryrun.trace_ops import Traced, is_kernel, read
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.kernel_time import kernel_us
from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.estimate.launches import launches_of

VIT = "h100-vit-nsfw-inference"
BERT = "h100-bert-small-launch-bound"
QWEN = "h100-qwen0.5b-chat"
OWL = "h100-owlv2-large-55MB"
RESNET = "kineto2021-v100-resnet50-workers0-memory"
RANKING_A100 = "a100x8-nccl-rank3of8-control"
RANKING_V100 = "v100x2-nccl-rank1of2-test"
SMALL = {VIT, BERT, QWEN}
#: The traces that constants of a class were fitted on; on others it is out of sample.
FITTED: dict[str, set[str]] = {
    "gemm": {*SMALL, RANKING_A100, RANKING_V100},
    "gemm_unaligned": {BERT, RANKING_A100, RANKING_V100},
    "gemv": {OWL},
    "bmm": {RANKING_A100, QWEN},
    "bmm_unaligned": {OWL},
    "attention": SMALL,
    "norm": {VIT, BERT, OWL},
    "column_reduce": {RANKING_A100},
    "elementwise": SMALL,
    "strided": {QWEN, VIT, OWL},
    "copy": {QWEN},
    "cat": {QWEN, VIT, OWL},
    "memcpy": {RANKING_A100, RANKING_V100},
    "reduce": {QWEN},
    "gather": {QWEN, BERT, OWL},
    "conv": {RESNET},
    "conv_backward": {RESNET},
    "conv_image": {VIT, OWL},
    "batch_norm": {RESNET},
    "batch_norm_backward": {RESNET},
}


def roofline_us(launches: tuple[Launch, ...], gpu: Gpu) -> float:
    """Return the time by data sheet alone, which is what a naive estimate says."""
    return sum(
        1e6 * max(k.flops / gpu.peak(k.dtype), k.nbytes / gpu.bandwidth_bytes_per_s)
        for k in launches
    )


def factor(one: float, other: float) -> float:
    """Return by which factor two times differ, at least 1."""
    low, high = sorted((one, other))
    return high / low if low > 0 else float("inf")


def class_of(launches: tuple[Launch, ...], gpu: Gpu) -> str:
    """Return the class of an operator: that of its longest kernel."""
    return max(launches, key=lambda launch: kernel_us(launch, gpu)).work


def errors(path: Path) -> dict[str, Any]:
    """Return for each class how near the estimates of a trace's operators come.

    Operators are compared as a whole: the sum of their kernels. Kernels whose recorded
    time is 0 µs are left out: older traces hold whole microseconds.
    """
    trace, name = read(path), path.name.removesuffix(".json.gz")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if trace.uses_tf32 else "highest")
    classes: dict[str, list[tuple[Traced, tuple[Launch, ...]]]] = defaultdict(list)
    for traced in trace.operators:
        launches = launches_of(traced.op, trace.gpu)
        if launches and traced.us and traced.op.copy is None:
            classes[class_of(launches, trace.gpu)].append((traced, launches))
    torch.set_float32_matmul_precision(before)
    rows = []
    for work, found in sorted(classes.items()):
        fitted = name in FITTED.get(work, ())
        rows.append({"class": work, "fitted": fitted, **_row(found, trace.gpu)})
    kernels = sum(map(is_kernel, trace.launched))
    return {"trace": name, "gpu": trace.gpu.name, "kernels": kernels,
            "not_compared": trace.unknown, "tf32": trace.uses_tf32,
            "classes": rows}  # fmt: skip


def _row(found: list[tuple[Traced, tuple[Launch, ...]]], gpu: Gpu) -> dict[str, Any]:
    said = [sum(kernel_us(k, gpu) for k in launches) for _, launches in found]
    took = [traced.us for traced, _ in found]
    off = sorted(map(factor, said, took))
    naive = [
        factor(roofline_us(launches, gpu), traced.us) for traced, launches in found
    ]
    return {
        "operators": len(found),
        "kernels_said": sum(k.is_kernel for _, launches in found for k in launches),
        "kernels": sum(is_kernel(e) for traced, _ in found for e in traced.kernels),
        "median": statistics.median(off),
        "p90": off[int(0.9 * (len(off) - 1))],
        "within_2": sum(f <= 2 for f in off) / len(off),
        "sum_ratio": sum(said) / sum(took),
        "ms": sum(took) / 1e3,
        "roofline_median": statistics.median(naive),
    }
