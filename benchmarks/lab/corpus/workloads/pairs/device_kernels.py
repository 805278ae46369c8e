# SPDX-License-Identifier: BSD-3-Clause
"""pairs/device_kernels.py: pairs about kernels, memory and compiled code."""

from __future__ import annotations

from benchmarks.lab.corpus.workloads.device_twins import (
    arithmetic,
    capturing,
    compiling,
    memory,
)
from benchmarks.lab.corpus.workloads.pairs.pair import (
    ALL,
    FEW,
    MANY,
    Pair,
    any_family,
    only,
)
from benchmarks.lab.corpus.workloads.training import Training

COMPILER = {
    "needs": "compiler",
    "reason": "torch.compile has no working compiler here",
}

TRACED = {
    "needs": "cpu",
    "reason": "one recompilation under the profiler writes 640,000 Python events",
}

KERNELS = (
    Pair(
        "norm_spelled_out", "fusible_chain", arithmetic.SpellsOutNorms, Training,
        ("transformer", "cnn"),
        mechanism="normalize",
        why="each norm a chain of eight kernels through memory",
        rank=2, also=("launch_bound",), strengths=MANY,
        runs_on=arithmetic.has_norms,
    ),
    Pair(
        "gelu_spelled_out", "fusible_chain", arithmetic.SpellsOutGelu,
        arithmetic.AppliesGelu, ("transformer",),
        mechanism="activation",
        why="nine kernels over the largest tensor of the model",
        strengths=MANY, runs_on=any_family,
    ),
    Pair(
        "softmax_spelled_out", "fusible_chain", arithmetic.SpellsOutSoftmax,
        arithmetic.AppliesSoftmax, ("transformer",),
        why="a chain with reductions in it",
        strengths=MANY, runs_on=any_family,
    ),
    Pair(
        "fp32_matmul", "tensor_core_unused", arithmetic.ForbidsTf32, Training, ALL,
        mechanism="fp32_everywhere",
        why="the only pair that changes kernels and nothing on the host",
        rank=2,
        tolerance=5e-2,
        precision="fp32 against TF32, whose mantissas have 10 bits",
        needs="cuda", reason="TF32 is a mode of a GPU's tensor cores",
    ),
    Pair(
        "fp32_convolutions", "tensor_core_unused",
        arithmetic.ForbidsTf32InConvolutions, Training, ("cnn",),
        runs_on=only("cnn"),
        why="products may use TF32, convolutions not",
        tolerance=5e-2,
        precision="fp32 against TF32, whose mantissas have 10 bits",
        needs="cuda", reason="TF32 is a mode of a GPU's tensor cores",
    ),
    Pair(
        "fp32_forward", "tensor_core_unused", arithmetic.ForbidsTf32,
        arithmetic.CastsDown, ("transformer", "cnn"),
        mechanism="fp32_everywhere",
        why="full fp32 against bfloat16 where autocast allows it",
        tolerance=2e-1,
        precision="fp32 against bfloat16, whose mantissas have 7 bits",
        needs="cuda", reason="the slow form is one of a GPU's tensor cores",
    ),
    Pair(
        "odd_vocabulary", "misaligned_gemm", arithmetic.OddWords, arithmetic.PadsHead,
        ("transformer",),
        runs_on=only("transformer"),
        why="a vocabulary that is no multiple of 8, against a padded product",
        tolerance=1e-1,
        precision="bfloat16, summed in another order by another kernel",
    ),
)  # fmt: skip

CAPTURED = (
    Pair(
        "step_launched_anew", "missed_cuda_graph", capturing.LaunchesEach,
        capturing.ReplaysGraph, ("transformer", "lstm"),
        why="the same launches in every step, against one; no CPU has such graphs",
        rank=2, also=("launch_bound",),
        needs="cuda", reason="graphs of kernels are CUDA's",
    ),
)  # fmt: skip

MEMORY = (
    Pair(
        "empty_cache_in_step", "allocator_churn", memory.EmptiesCache, Training, ALL,
        mechanism="empty_cache",
        why="cudaMalloc and cudaFree take times nobody can guess",
        rank=2, also=("sync_stall",),
        needs="cuda", reason="the caching allocator is that of a GPU",
    ),
    Pair(
        "empty_cache_in_parts", "allocator_churn", memory.EmptiesCacheOften, Training,
        ("cnn",),
        mechanism="empty_cache",
        why="the same up to four times a step",
        also=("sync_stall",), strengths=FEW,
        needs="cuda", reason="the caching allocator is that of a GPU",
    ),
    Pair(
        "history_that_grows", "allocator_churn", memory.GrowsHistory,
        memory.KeepsInPlace, ("transformer",),
        why="each step wants a larger block than any before",
        also=("redundant_d2d",),
    ),
)  # fmt: skip

COMPILED = (
    Pair(
        "graph_break_per_block", "graph_break", compiling.CompilesInPieces,
        compiling.Compiles, ("transformer", "cnn"),
        why="no public trace pairs a broken graph with a whole one",
        rank=1, also=("launch_bound",), strengths=FEW,
        runs_on=only("transformer", "cnn"), **COMPILER,
    ),
    Pair(
        "graph_break_at_item", "graph_break", compiling.ReadsInGraph,
        compiling.Compiles, ("transformer",),
        why="breaks the graph and waits",
        also=("sync_stall", "launch_bound"), strengths=FEW,
        runs_on=only("transformer", "cnn"), **COMPILER,
    ),
    Pair(
        "graph_break_at_branch", "graph_break", compiling.BranchesInGraph,
        compiling.Compiles, ("transformer",),
        why="breaks the graph for a case that never comes",
        also=("sync_stall", "launch_bound"), strengths=FEW,
        runs_on=only("transformer", "cnn"), **COMPILER,
    ),
    Pair(
        "recompiled_for_number", "recompile_or_lazy_load", compiling.WarmsUpByNumber,
        compiling.WarmsUp, ("recommender",),
        why="a number that changes is compiled into the code",
        strengths=FEW, **TRACED,
    ),
    Pair(
        "recompiled_for_name", "recompile_or_lazy_load", compiling.WarmsUpByName,
        compiling.WarmsUp, ("recommender",),
        why="a name that changes guards the code",
        strengths=FEW, **TRACED,
    ),
    Pair(
        "recompiled_for_shape", "recompile_or_lazy_load", compiling.WarmsUpInParts,
        compiling.WarmsUpInHalves, ("recommender",),
        why="a shape that changes, until all have been seen",
        strengths=FEW, **TRACED,
    ),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = (*KERNELS, *CAPTURED, *MEMORY, *COMPILED)
