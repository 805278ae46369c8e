# SPDX-License-Identifier: BSD-3-Clause
"""pairs/device.py: pairs whose slow twin gives the device its work badly."""

from __future__ import annotations

import workloads.device_twins as twins
from workloads.pairs.pair import ALL, Pair, only
from workloads.training import Training

PAIRS: tuple[Pair, ...] = (
    Pair(
        "loop_over_samples", "loop_indexing", twins.ScalesRowByRow,
        twins.ScalesTogether, ("cnn", "transformer", "lstm"),
        why="launch-bound regions need real launch costs",
        rank=1,
        also=("launch_bound",),
    ),
    Pair(
        "graph_break_per_block", "graph_break", twins.CompilesInPieces,
        twins.Compiles, ("transformer", "cnn"),
        why="no public trace pairs a broken graph with a whole one",
        rank=1,
        also=("launch_bound",),
        runs_on=only("transformer", "cnn"),
        needs="compiler", reason="torch.compile has no working compiler here",
    ),
    Pair(
        "single_tensor_optimizer", "unfused_optimizer", twins.AdamOneByOne,
        twins.AdamTogether, ALL,
        why="one flag, large where parameters are many and small",
        rank=1,
        also=("launch_bound",),
        tolerance=1e-2,
        precision="Adam divides by roots of tiny moments, which magnifies rounding",
    ),
    Pair(
        "unrolled_lstm", "small_grid", twins.UnrollsLstm, Training, ("lstm",),
        runs_on=only("lstm"),
        why="grids far below the number of multiprocessors, against one fused layer",
        rank=2,
        also=("launch_bound",),
        tolerance=5e-2,
        precision="TF32 on CUDA (10-bit mantissas), rounded anew in every cell",
    ),
    Pair(
        "empty_cache_in_step", "allocator_churn", twins.EmptiesCache, Training, ALL,
        why="cudaMalloc and cudaFree take times nobody can guess",
        rank=2,
        also=("sync_stall",),
        needs="cuda", reason="the caching allocator is that of a GPU",
    ),
    Pair(
        "fp32_matmul", "tensor_core_unused", twins.ForbidsTf32, Training,
        ALL,
        why="the only pair that changes kernels and nothing on the host",
        rank=2,
        tolerance=5e-2,
        precision="fp32 against TF32, whose mantissas have 10 bits",
        needs="cuda", reason="TF32 is a mode of a GPU's tensor cores",
    ),
    Pair(
        "zero_grad_fill", "zero_grad_fill", twins.FillsGradients, Training, ALL,
        why="seldom costs 5 % by itself: a natural near miss",
        rank=3,
    ),
)  # fmt: skip
