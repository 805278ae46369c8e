# SPDX-License-Identifier: BSD-3-Clause
"""pairs/named.py: pairs that users meet under a name, see docs/cases."""

from __future__ import annotations

from benchmarks.lab.corpus.workloads.named import gradients, graphs, numbers, text
from benchmarks.lab.corpus.workloads.pairs.device_kernels import COMPILER
from benchmarks.lab.corpus.workloads.pairs.pair import MANY, Pair, only
from benchmarks.lab.corpus.workloads.training import Training

PAIRS: tuple[Pair, ...] = (
    Pair(
        "sampler_by_mask", "sync_stall", text.SamplesByMask, Training,
        ("text_sampler",),
        why="a sampler whose shapes depend on data, reported at 2 to 52 times",
        mechanism="nonzero", strengths=MANY, rank=2,
        runs_on=only("text_sampler"),
    ),
    Pair(
        "sampler_by_mask_compiled", "graph_break", text.CompilesSamplerByMask,
        text.CompilesSampler, ("text_sampler",),
        why="the same under a compiler, which breaks where a shape is not known",
        also=("sync_stall",), runs_on=only("text_sampler"), **COMPILER,
    ),
    Pair(
        "sampler_rows_alone", "launch_bound", text.DrawsAlone, Training,
        ("text_sampler",),
        why="the same sampler with one sequence at a time, against 32",
        also=("small_grid", "loop_indexing"), mechanism="samples_alone",
        strengths=MANY, runs_on=only("text_sampler"),
        tolerance=5e-2, precision="TF32 on CUDA, in kernels that differ by size",
    ),
    Pair(
        "tokens_read", "sync_stall", text.ReadsTokens, Training, ("lstm_writer",),
        mechanism="item",
        why="text written token by token, each looked at on the host",
        also=("redundant_d2d", "loop_indexing"), strengths=MANY, rank=2,
        runs_on=only("lstm_writer"),
    ),
    Pair(
        "sequences_alone", "small_grid", text.WritesAlone, Training,
        ("lstm_writer",),
        why="grids of one sequence fill a fraction of the device",
        also=("launch_bound",), mechanism="samples_alone", strengths=MANY,
        runs_on=only("lstm_writer"),
        tolerance=5e-2, precision="TF32 on CUDA, in kernels that differ by size",
    ),
    Pair(
        "znorm_by_tensor", "launch_bound", gradients.ScoresOneByOne,
        gradients.ScoresTogether, ("transformer", "cnn"),
        why="half a dozen tiny kernels a weight",
        also=("host_bound_python",), strengths=MANY,
        tolerance=1e-2, precision="variance as a difference of two sums in fp32",
    ),
    Pair(
        "znorm_reads", "sync_stall", gradients.ScoresByNumbers,
        gradients.ScoresTogether, ("cnn",),
        mechanism="item",
        why="the same with two numbers read a weight",
        also=("launch_bound",), strengths=MANY,
        tolerance=1e-2, precision="variance as a difference of two sums in fp32",
    ),
    Pair(
        "neighbors_in_python", "host_bound_python", graphs.SamplesOnHost, Training,
        ("sage",),
        why="neighbor sampling in Python, against one indexing on the device",
        also=("pageable_copy",), strengths=MANY, rank=2, runs_on=only("sage"),
    ),
    Pair(
        "neighbors_not_prefetched", "dataloader_bound", graphs.SamplesInStep,
        graphs.SamplesAhead, ("sage",),
        mechanism="no_workers",
        why="the same in a loader, without workers and with two",
        runs_on=only("sage"),
    ),
    Pair(
        "newton_loop", "sync_stall", numbers.SolvesOneByOne, numbers.SolvesTogether,
        ("many_tasks",),
        why="each solve waits for its check of singularity",
        also=("loop_indexing", "launch_bound"), strengths=MANY,
        runs_on=only("many_tasks"),
        tolerance=1e-2, precision="two solvers, of systems that are well damped",
    ),
    Pair(
        "newton_on_host", "frequent_memcpy", numbers.SolvesOnHost,
        numbers.SolvesTogether, ("many_tasks",),
        why="three small copies a system that the host waits for",
        also=("sync_stall", "pageable_copy"), strengths=MANY,
        runs_on=only("many_tasks"),
        tolerance=1e-2, precision="two solvers, of systems that are well damped",
    ),
    Pair(
        "int8_by_float", "redundant_d2d", numbers.DequantizesLayers, Training,
        ("int8_layers",),
        mechanism="cast",
        why="each layer to floating point and back, against whole numbers throughout",
        also=("tensor_core_unused",), strengths=MANY, runs_on=only("int8_layers"),
        tolerance=1e-6, precision="none is lost: scales are powers of two",
    ),
)  # fmt: skip

UNSEEN: tuple[Pair, ...] = (
    Pair(
        "maxk_dense", "", graphs.SpreadsRows, Training, ("maxk",),
        why="work that is useless, which no trace shows: only a case of docs/cases",
        runs_on=only("maxk"),
    ),
)  # fmt: skip
"""Pairs of no pattern that torchtraceap knows; not among PAIRS."""
