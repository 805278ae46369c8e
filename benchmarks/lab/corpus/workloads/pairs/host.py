# SPDX-License-Identifier: BSD-3-Clause
"""pairs/host.py: pairs whose slow twin makes the device wait for values or batches."""

from __future__ import annotations

from benchmarks.lab.corpus.workloads import host_twins as twins
from benchmarks.lab.corpus.workloads import host_twins_loading as loading
from benchmarks.lab.corpus.workloads import host_twins_waits as waits
from benchmarks.lab.corpus.workloads.pairs.pair import (
    ALL,
    EIGHT,
    FEW,
    MANY,
    Pair,
    any_family,
)
from benchmarks.lab.corpus.workloads.training import Training

EXACT = "the same operations; only who waits for them differs"

WAITS: tuple[Pair, ...] = (
    Pair(
        "item_per_parameter", "sync_stall", twins.ClipsOnHost, twins.ClipsOnDevice, ALL,
        mechanism="item",
        why="the commonest stall; a CPU trace can name it but not show its cost",
        rank=1,
        strengths=MANY,
    ),
    Pair(
        "nonzero_rows", "sync_stall", twins.AveragesByIndex, twins.AveragesByMask, ALL,
        mechanism="nonzero",
        why="the second way to stall: a shape that depends on data",
        rank=1,
        strengths=EIGHT,
    ),
    Pair(
        "boolean_mask", "sync_stall", waits.PicksLargest, waits.DecaysLargest,
        ("efficientnet",),
        mechanism="nonzero",
        why="the same wait, hidden in an index",
        strengths=MANY,
    ),
    Pair(
        "loss_printed", "sync_stall", waits.PrintsLosses, waits.KeepsLosses,
        ("diffusion",),
        mechanism="item",
        why="one wait a step, which everybody writes; often harmless",
        strengths=FEW,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "losses_to_cpu", "sync_stall", waits.FetchesLosses, waits.KeepsLosses,
        ("swin",),
        mechanism="cpu",
        why="waits at the end of a step, where the device has little left to do",
        also=("frequent_memcpy",),
        strengths=EIGHT,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "running_mean", "sync_stall", waits.AveragesNow, waits.AveragesLater,
        ("fcos",),
        mechanism="item",
        why="the meter of many training scripts",
        strengths=EIGHT,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "branch_on_tensor", "sync_stall", waits.BranchesOnFinite, waits.MasksFinite,
        ("translator",),
        mechanism="truth_of_a_tensor",
        why="a wait that no call names",
        strengths=MANY,
    ),
    Pair(
        "ranks_from_list", "sync_stall", waits.SortsOnHost, waits.WeighsByRank,
        ("graph",),
        mechanism="cpu",
        why="waits between forward and backward, and copies back",
        also=("frequent_memcpy", "pageable_copy"),
        strengths=EIGHT,
    ),
    Pair(
        "synchronize_to_time", "sync_stall", waits.TimesHooks, Training,
        ("transformer_inference",),
        mechanism="device_synchronize",
        why="left over from measuring",
        strengths=(1.0, 1 / 3),
        precision=EXACT,
        needs="cuda", reason="there is no device to wait for",
        runs_on=any_family,
    ),
)  # fmt: skip

LOADING: tuple[Pair, ...] = (
    Pair(
        "loader_without_workers", "dataloader_bound", twins.LoadsInStep,
        twins.LoadsAhead, ("cnn", "transformer"),
        mechanism="no_workers",
        why="the commonest reason for an idle GPU; cheap samples give the negative",
        rank=1,
        strengths=MANY,
        runs_on=any_family,
    ),
    Pair(
        "one_far_worker", "dataloader_bound", loading.OneFarWorker,
        loading.ManyFarWorkers, ("segformer",),
        mechanism="slow_workers",
        why="samples that are slow to come and not slow to work on",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "unpacked_again", "dataloader_bound", loading.UnpacksAgain,
        loading.UnpacksOnce, ("unet",),
        mechanism="slow_dataset",
        why="no cache; workers would only hide it",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "collated_in_python", "dataloader_bound", loading.CollatesNumbers,
        loading.CollatesTensors, ("recommender",),
        mechanism="collate",
        why="the loader's own Python",
        also=("host_bound_python",),
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = WAITS + LOADING
