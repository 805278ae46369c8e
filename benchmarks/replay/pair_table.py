# SPDX-License-Identifier: BSD-3-Clause
"""pair_table.py: slow programs, their fixed twins, and what to drop.

The twins are those of benchmarks/lab/corpus where that has one that a CPU shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch

from benchmarks.lab.corpus.workloads import device_twins as device
from benchmarks.lab.corpus.workloads.families import FAMILIES, Config
from benchmarks.lab.corpus.workloads.training import Lab, Training
from benchmarks.replay import waiting_twins as waiting


@dataclass(frozen=True)
class TimedPair:
    """A slow program and the same without `pattern`.

    Attributes:
        why: Where prediction and measurement may differ.
        compiles: Each twin is compiled, so fewer rounds are run.
    """

    name: str
    pattern: str
    slow: Callable[[Lab], Training]
    fixed: Callable[[Lab], Training]
    family: str
    config: Config
    what: str
    why: str
    compiles: bool = False


IMAGES = dict(batch=16, side=24, width=16, stages=2, depth=2, classes=10)
TEXT = dict(batch=16, length=32, width=64, heads=4, depth=3, vocabulary=512)
MANY_WORDS = TEXT | dict(vocabulary=8192)

PAIRS: tuple[TimedPair, ...] = (
    TimedPair(
        "loader_decodes", "dataloader_bound", waiting.UnpacksInStep,
        waiting.UnpacksAhead, "cnn", IMAGES,
        "DataLoader that unpacks and shrinks images, 0 -> 4 workers",
        "The fixed program still waits to receive batches (column *left*), and the "
        "workers share the processors with the training: no replay knows either.",
    ),
    TimedPair(
        "loader_waits", "dataloader_bound", waiting.FetchesInStep,
        waiting.FetchesAhead, "cnn", IMAGES,
        "DataLoader that waits 1 ms a sample, 0 -> 4 workers",
        "Sleeping workers take no processor; receiving a batch remains (see *left*).",
    ),
    TimedPair(
        "comm_exposed", "comm_exposed", waiting.ReducesAfter, waiting.ReducesBeside,
        "cnn", IMAGES,
        "Gradients reduced over gloo (2 ranks, slow link) after the backward pass -> "
        "in buckets beside it",
        "The replay lets the k-th of n buckets begin when k/n of the gradients are "
        "there, by their number; the program fills buckets by bytes.",
    ),
    TimedPair(
        "loop_over_samples", "loop_indexing", device.ScalesRowByRow,
        device.ScalesTogether, "transformer", TEXT,
        "Outputs standardized sample by sample -> all at once",
        "The finding is the loop's own calls. Their backward pass goes too, which no "
        "finding claims: it has 2,202 operators in the slow trace, 997 in the fixed.",
    ),
    TimedPair(
        "optimizer_foreach", "unfused_optimizer", device.AdamOneByOne,
        device.AdamTogether, "transformer", TEXT,
        "AdamW parameter by parameter -> foreach=True",
        "The finding is what a single call would save, but on a CPU foreach is none: "
        "1,178 operators a step become 1,268, hardly any time is gained with the "
        "profiler on, and without it the step takes longer.",
    ),
    TimedPair(
        "optimizer_fused", "unfused_optimizer", device.AdamOneByOne, waiting.AdamFused,
        "transformer", TEXT,
        "AdamW parameter by parameter -> fused=True",
        "The finding leaves out operators with real work, which the fused form does in "
        "fewer passes over memory; how much that matters here was not measured.",
    ),
    TimedPair(
        "casts", "cpu_cast", waiting.CastsGradients, Training, "transformer",
        MANY_WORDS,
        "Gradients to float64 and back -> left as they are",
        "The difference is too small beside the spread to say more.",
    ),
    TimedPair(
        "python_in_step", "host_bound_python", waiting.TokenizesInStep, Training,
        "transformer", TEXT,
        "Python alone works before each step -> does not",
        "The finding is all Python between operators, not that one function.",
    ),
    TimedPair(
        "graph_breaks", "graph_break", device.CompilesInPieces, device.Compiles,
        "transformer", TEXT,
        "torch.compile with a break after each block -> in one graph",
        "The finding is the eager code between the pieces. That one graph is compiled "
        "to better code may be the rest; it was not looked into.",
        compiles=True,
    ),
)  # fmt: skip


def lab_of(pair: TimedPair) -> Lab:
    """Return where a pair's twins are built: on the CPU, with sizes of its own."""
    family = dataclasses.replace(FAMILIES[pair.family], configs={"host": pair.config})
    return Lab(torch.device("cpu"), family, "host", seed=0)
