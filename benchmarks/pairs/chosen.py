# SPDX-License-Identifier: BSD-3-Clause
"""chosen.py: which pairs are recorded, and which were recorded by others.

Most are of benchmarks/lab/corpus/workloads/pairs.toml: each mechanism whose cost a CPU
shows, on its first family unless another is named.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch

from benchmarks.lab.corpus.workloads import pairs
from benchmarks.lab.corpus.workloads.device_twins.updates import AdamOneByOne
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.host_twins_loading import ManyFarWorkers
from benchmarks.lab.corpus.workloads.pairs import Pair
from benchmarks.lab.corpus.workloads.training import Lab, Training
from benchmarks.pairs import twins

#: Patterns that rules look for in traces without a device.
PATTERNS = {
    "comm_exposed", "cpu_cast", "dataloader_bound", "gc_pause", "graph_break",
    "host_bound_python", "loop_indexing", "recompile_or_lazy_load",
    "unfused_optimizer", "zero_grad_fill",
}  # fmt: skip
#: Of these, what would only take time: more of what takes long to compile.
LEFT_OUT = {"graph_break_at_branch", "recompiled_for_name", "sampler_by_mask_compiled"}
#: The family with many samples a batch, so that a loop over them takes a while.
MANY_SAMPLES = {"loop_over_samples", "loop_writes_rows"}
#: Few samples, so that casts of weights are more than the products with them.
SIZES = {"autocast_weights": {"batch": 2, "hidden": 1024, "tables": 8}}

OWN = (
    Pair(
        "far_without_workers", "dataloader_bound", twins.FetchesInStep,
        ManyFarWorkers, ("cnn",), "samples that are slow to come, 0 -> 6 workers",
    ),
    Pair(
        "optimizer_fused", "unfused_optimizer", AdamOneByOne, twins.AdamFused,
        ("transformer",), "the form that is one operator on a CPU too",
    ),
    Pair(
        "autocast_weights", "cpu_cast", twins.Autocasts, twins.CastsOnce,
        ("recommender",), "autocast casts each weight in each step",
    ),
    Pair(
        "attention_spelled_out", "unfused_attention", twins.SpellsOutAttention,
        Training, ("transformer",), "scores written to memory, then read again",
    ),
)  # fmt: skip


def on_cpu(pair: Pair) -> Pair:
    """Return a pair with the pattern that it has on a CPU."""
    same = pair.pattern != "redundant_d2d"
    return pair if same else dataclasses.replace(pair, pattern="cpu_cast")


def chosen() -> dict[str, Pair]:
    """Return the pairs to record, by name."""
    every = [on_cpu(pair) for group in pairs.GROUPS.values() for pair in group]
    known = [p for p in every if p.pattern in PATTERNS and p.name not in LEFT_OUT]
    return {pair.name: pair for pair in (*known, *OWN)}


def lab_of(pair: Pair) -> Lab:
    """Return where a pair's twins are built: on the CPU, at the scale for it."""
    many = pair.name in MANY_SAMPLES
    family = FAMILIES["recommender" if many else pair.families[0]]
    config = {**family.configs["small"], **SIZES.get(pair.name, {})}
    family = dataclasses.replace(family, configs={"small": config})
    return Lab(torch.device("cpu"), family, "small", seed=0)


@dataclass(frozen=True)
class Natural:
    """Two published traces of one program, before and after a change.

    ``by_step``: their median steps are compared; else their spans, which hold the same
    work, as where the host runs ahead of the device or no step is marked.
    """

    slow: str
    fixed: str
    pattern: str
    by_step: bool
    note: str


NATURAL = (
    Natural(
        "kineto2021-v100-resnet50-workers0-memory",
        "kineto2021-v100-resnet50-workers4", "dataloader_bound", True,
        "ResNet-50, 0 -> 4 loader workers, which slow the training process: its "
        "operators take 10 to 25 % longer.",
    ),
    Natural(
        "a100-qlora-bitsandbytes", "a100-qlora-fused", "redundant_d2d", False,
        "A quantized layer, bitsandbytes -> one Triton kernel, which does without "
        "the casts and most of the dequantization.",
    ),
    Natural(
        "rtx3060-training-compiled", "rtx3060-training-graphs", "missed_cuda_graph",
        False,
        "torch.compile -> with CUDA graphs. The device is busy throughout in both; its "
        "kernels are others, which take 9 % less.",
    ),
)  # fmt: skip
