# SPDX-License-Identifier: BSD-3-Clause
"""pairs/host_copies.py: pairs whose slow twin copies too often, or at a bad time."""

from __future__ import annotations

from benchmarks.lab.corpus.workloads import host_twins_copies as copies
from benchmarks.lab.corpus.workloads import host_twins_fills as fills
from benchmarks.lab.corpus.workloads import host_twins_moves as moves
from benchmarks.lab.corpus.workloads import host_twins_snapshots as snapshots
from benchmarks.lab.corpus.workloads import host_twins_streams as streams
from benchmarks.lab.corpus.workloads.pairs.pair import (
    ALL,
    EIGHT,
    FEW,
    MANY,
    Pair,
    any_family,
)
from benchmarks.lab.corpus.workloads.training import Training

EXACT = "copies change no bit"
NEEDS_GPU = "pinned memory, streams and copies need a GPU"

SMALL: tuple[Pair, ...] = (
    Pair(
        "small_copies", "frequent_memcpy", copies.CopiesRows, copies.CopiesWhole,
        ("cnn", "transformer"),
        mechanism="small_uploads",
        why="copies exist on a GPU only",
        rank=1,
        also=("sync_stall", "pageable_copy"),
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "fields_copied_singly", "frequent_memcpy", copies.CopiesFields,
        copies.CopiesWhole, ("transformer",),
        mechanism="small_uploads",
        why="small copies of what does not lie together",
        also=("sync_stall", "pageable_copy"),
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "scalars_one_by_one", "frequent_memcpy", copies.CopiesScales,
        copies.ScalesGradients, ("mobilenet",),
        mechanism="per_tensor_constants",
        why="numbers kept on the host, one copy each",
        also=("sync_stall", "pageable_copy"),
        strengths=MANY,
    ),
    Pair(
        "metrics_one_by_one", "frequent_memcpy", copies.CopiesNorms,
        copies.CopiesNormsWhole, ("convnext",),
        mechanism="small_downloads",
        why="small copies the other way, without a wait",
        strengths=MANY,
    ),
    Pair(
        "round_trip", "frequent_memcpy", copies.SendsGradientsRound, Training,
        ("hrnet",),
        mechanism="ping_pong",
        why="an operator that runs on the host alone",
        also=("sync_stall", "pageable_copy"),
        strengths=MANY,
        precision=EXACT,
    ),
    Pair(
        "tensors_made_on_host", "cpu_init_then_copy", fills.DecaysFromHost,
        fills.DecaysOnDevice, ALL,
        why="many tiny blocking copies with a plain fix",
        rank=2,
        also=("sync_stall", "frequent_memcpy", "pageable_copy"),
        strengths=MANY,
    ),
    Pair(
        "zeros_made_on_host", "cpu_init_then_copy", fills.AddsUpFromHost,
        fills.AddsUpOnDevice, ("vae",),
        why="few large copies of zeros",
        also=("sync_stall", "pageable_copy"),
        strengths=MANY,
    ),
    Pair(
        "masks_made_on_host", "cpu_init_then_copy", fills.MasksFromHost,
        fills.MasksOnDevice, ("dpt",),
        why="in the forward pass, where the host would be ahead",
        also=("sync_stall", "frequent_memcpy", "pageable_copy"),
        strengths=EIGHT,
        runs_on=any_family,
    ),
)  # fmt: skip

LARGE: tuple[Pair, ...] = (
    Pair(
        "pageable_batches", "pageable_copy", streams.CopiesPageable,
        streams.CopiesPinned,
        ("cnn", "recommender"),
        mechanism="batch_upload",
        why="copy engines and staging are what a simulation knows least",
        rank=1,
        also=("exposed_copy",),
        strengths=FEW,
        precision=EXACT,
        needs="cuda", reason=NEEDS_GPU,
        runs_on=any_family,
    ),
    Pair(
        "pageable_anchors", "pageable_copy", streams.AnchoredPageable, streams.Anchored,
        ("mixer",),
        mechanism="offload",
        why="a copy for each parameter, between backward and update",
        also=("exposed_copy",),
        strengths=MANY,
        precision=EXACT,
        needs="cuda", reason=NEEDS_GPU,
    ),
    Pair(
        "pageable_snapshots", "pageable_copy", snapshots.SnapshotsPageable,
        snapshots.Snapshots,
        ("densenet",),
        mechanism="results_download",
        why="copies to the host, which wait for what is queued before them",
        also=("sync_stall",),
        strengths=MANY,
        precision=EXACT,
        needs="cuda", reason=NEEDS_GPU,
        runs_on=any_family,
    ),
    Pair(
        "exposed_batches", "exposed_copy", streams.CopiesLate, streams.CopiesAhead,
        ("stereo",),
        mechanism="late_batch",
        why="large pinned copies that nothing hides",
        rank=2,
        strengths=FEW,
        precision=EXACT,
        needs="cuda", reason=NEEDS_GPU,
        runs_on=any_family,
    ),
    Pair(
        "exposed_anchors", "exposed_copy", streams.AnchoredLate, streams.AnchoredAhead,
        ("recommender",),
        mechanism="late_weights",
        why="weights that are kept on the host",
        strengths=MANY,
        precision=EXACT,
        needs="cuda", reason=NEEDS_GPU,
    ),
    Pair(
        "exposed_snapshots", "exposed_copy", snapshots.SnapshotsLate,
        snapshots.SnapshotsBeside,
        ("monodepth",),
        mechanism="late_results",
        why="a checkpoint in each step",
        strengths=MANY,
        precision=EXACT,
        needs="cuda", reason=NEEDS_GPU,
    ),
)  # fmt: skip

MOVES: tuple[Pair, ...] = (
    Pair(
        "outputs_cast", "redundant_d2d", moves.CastsOutputs, Training, ("deeplab",),
        mechanism="cast",
        why="a type that the next layer does not want",
        also=("launch_bound",),
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "outputs_cloned", "redundant_d2d", moves.ClonesOutputs,
        Training, ("joints",),
        mechanism="clone",
        why="copies out of caution",
        also=("launch_bound",),
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "outputs_relaid", "redundant_d2d", moves.RelaysOutputs, Training, ("vit",),
        mechanism="contiguous",
        why="a layout that the next layer does not want",
        also=("launch_bound",),
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "gradients_cast", "redundant_d2d", moves.CastsGradients,
        Training, ("detr",),
        mechanism="cast",
        why="the same in backward's results, after all of it",
        also=("launch_bound",),
        strengths=MANY,
        precision=EXACT,
    ),
    Pair(
        "gradients_cloned", "redundant_d2d", moves.ClonesGradients, Training, ("ssd",),
        mechanism="clone",
        why="copies inside the device, of all sizes",
        also=("launch_bound",),
        strengths=MANY,
        precision=EXACT,
    ),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = SMALL + LARGE + MOVES
