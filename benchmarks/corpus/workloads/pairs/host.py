# SPDX-License-Identifier: BSD-3-Clause
"""pairs/host.py: pairs whose slow twin makes the device wait for the host."""

from __future__ import annotations

import workloads.host_twins as twins
from workloads.pairs.pair import ALL, Pair

PAIRS: tuple[Pair, ...] = (
    Pair(
        "item_per_parameter", "sync_stall", twins.ClipsOnHost, twins.ClipsOnDevice, ALL,
        why="the commonest stall; a CPU trace can name it but not show its cost",
        rank=1,
    ),
    Pair(
        "small_copies", "frequent_memcpy", twins.CopiesRows, twins.CopiesWhole,
        ("cnn", "transformer"),
        why="copies exist on a GPU only",
        rank=1,
        also=("sync_stall", "pageable_copy"),
    ),
    Pair(
        "loader_without_workers", "dataloader_bound", twins.LoadsInStep,
        twins.LoadsAhead, ("cnn", "transformer"),
        why="the commonest reason for an idle GPU; cheap samples give the negative",
        rank=1,
    ),
    Pair(
        "nonzero_rows", "sync_stall", twins.AveragesByIndex, twins.AveragesByMask, ALL,
        why="the second way to stall: a shape that depends on data",
        rank=1,
    ),
    Pair(
        "pageable_batches", "pageable_copy", twins.CopiesPageable, twins.CopiesPinned,
        ("cnn", "recommender"),
        why="copy engines and staging are what a simulation knows least",
        rank=1,
        also=("exposed_copy",),
        needs="cuda", reason="pinned memory and copies need a GPU",
    ),
    Pair(
        "tensors_made_on_host", "cpu_init_then_copy", twins.DecaysFromHost,
        twins.DecaysOnDevice, ALL,
        why="many tiny blocking copies with a plain fix",
        rank=2,
        also=("sync_stall", "frequent_memcpy", "pageable_copy"),
    ),
)  # fmt: skip
