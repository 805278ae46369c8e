# SPDX-License-Identifier: BSD-3-Clause
"""pairs/device.py: pairs whose slow twin gives the device its work badly."""

from __future__ import annotations

from benchmarks.lab.corpus.workloads.device_twins import loops, updates
from benchmarks.lab.corpus.workloads.pairs import device_kernels
from benchmarks.lab.corpus.workloads.pairs.pair import ALL, MANY, Pair, any_family, only
from benchmarks.lab.corpus.workloads.training import Training

ADAM = "Adam divides by roots of tiny moments, which magnifies rounding"

LOOPS = (
    Pair(
        "loop_over_samples", "loop_indexing", loops.ScalesRowByRow,
        loops.ScalesTogether, ("cnn", "transformer", "lstm"),
        why="launch-bound regions need real launch costs",
        rank=1, also=("launch_bound",), strengths=MANY, runs_on=any_family,
    ),
    Pair(
        "loop_over_losses", "loop_indexing", loops.WeighsOneByOne,
        loops.WeighsTogether, ("recommender",),
        why="the same pattern by scalars: two indexings and two launches a sample",
        also=("launch_bound",), strengths=MANY,
    ),
    Pair(
        "loop_writes_rows", "loop_indexing", loops.CentersInPlace,
        loops.CentersTogether, ("cnn",),
        why="the same pattern by writing: the backward pass copies for each row",
        also=("launch_bound",), strengths=MANY, runs_on=any_family,
    ),
    Pair(
        "samples_alone", "launch_bound", loops.RunsSamplesAlone, Training,
        ("transformer", "cnn"),
        why="a batch in a loop: every kernel small, every launch paid a sample",
        also=("small_grid", "loop_indexing", "host_bound_python"),
        strengths=MANY, runs_on=any_family,
        tolerance=5e-2,
        precision="TF32 on CUDA: other sizes are other kernels, which round otherwise",
    ),
    Pair(
        "unrolled_lstm", "small_grid", loops.UnrollsLstm, Training, ("lstm",),
        runs_on=only("lstm"),
        why="grids far below the number of multiprocessors, against one fused layer",
        rank=2, also=("launch_bound",), strengths=MANY,
        tolerance=5e-2,
        precision="TF32 on CUDA (10-bit mantissas), rounded anew in every cell",
    ),
    Pair(
        "products_in_slices", "small_grid", loops.MultipliesInSlices,
        loops.MultipliesWhole, ("transformer",),
        mechanism="narrow_product",
        why="a product in slices too narrow for the device",
        also=("launch_bound",), strengths=MANY, runs_on=any_family,
        tolerance=5e-2, precision="TF32 on CUDA, in kernels that differ by size",
    ),
)  # fmt: skip

UPDATES = (
    Pair(
        "single_tensor_optimizer", "unfused_optimizer", updates.AdamOneByOne,
        updates.AdamTogether, ALL,
        mechanism="single_tensor",
        why="one flag, large where parameters are many and small",
        rank=1, also=("launch_bound",), strengths=MANY,
        tolerance=1e-2, precision=ADAM,
    ),
    Pair(
        "single_tensor_sgd", "unfused_optimizer", updates.SgdOneByOne,
        updates.SgdTogether, ("cnn",),
        mechanism="single_tensor",
        why="the same with a third of the kernels",
        also=("launch_bound",), strengths=MANY,
    ),
    Pair(
        "own_optimizer", "unfused_optimizer", updates.OwnOneByOne, updates.OwnTogether,
        ("transformer",),
        why="a class of one's own, of which no flag is known",
        also=("launch_bound",), strengths=MANY,
    ),
    Pair(
        "zero_grad_fill", "zero_grad_fill", updates.FillsGradients, Training, ALL,
        why="seldom costs 5 % by itself: a natural near miss",
        rank=3, strengths=MANY,
    ),
    Pair(
        "zero_grad_by_hand", "zero_grad_fill", updates.FillsOneByOne, Training,
        ("recommender",),
        why="the same in a loop of the program's",
        strengths=MANY,
    ),
    Pair(
        "zero_grad_anew", "zero_grad_fill", updates.MakesZeros, Training,
        ("recommender",),
        why="the same into new memory in each step",
        strengths=MANY,
    ),
    Pair(
        "average_by_parameter", "launch_bound", updates.AveragesOneByOne,
        updates.AveragesTogether, ("transformer",),
        why="a running average of weights is in many programs, in a loop",
        also=("host_bound_python",), strengths=MANY,
    ),
    Pair(
        "clip_by_tensor", "launch_bound", updates.ClipsOneByOne, updates.ClipsTogether,
        ("cnn",),
        why="four tiny kernels a parameter, nothing read",
        also=("host_bound_python",), strengths=MANY,
    ),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = (*LOOPS, *UPDATES, *device_kernels.PAIRS)
