# SPDX-License-Identifier: BSD-3-Clause
"""baselines/peers.py: rules of other tools, on the columns that measure the same.

Each rule is a quantity that a tool looks at. Its threshold is tuned: a decision tree
of one node on the windows to train on, which is kinder to the tool than its own
constant, made for whole traces. A tool's score is the sum over its rules of the share
of positives on the window's side of the threshold. Inputs of a tool that no column
holds are left out, as is SageMaker's balance of devices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.judging.judged import Scores

#: Tool: what its rules look at, and which columns read that. A column by cause, which
#: is torchtraceap's own rule, stands in only where no statistic tells.
PEERS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "TorchTidy": (
        ("copies of what was just filled", ("fills", "op_copies")),
        ("loops that index", ("indexing", "repeats")),
        ("matrix products without TF32", ("cause_tensor_core_unused",)),
        ("optimizers of single tensors", ("optimizer", "in_optimizer")),
        ("loading without workers", ("in_loader",)),
        ("gradients filled with zeros", ("fills",)),
        ("bias before a norm", ("cause_conv_bias_bn",)),
        ("dimensions not of 8", ("cause_misaligned_gemm",)),
    ),
    "TensorBoard plugin": (
        ("loading, share of the step", ("in_loader", "late_in_loader")),
        ("communication, share of the step", ("communication",)),
        ("utilization of the GPU", ("busy",)),
        ("tensor cores", ("cause_tensor_core_unused",)),
        ("occupancy", ("occupancy",)),
        ("blocks a multiprocessor", ("grids_small",)),
        ("DataParallel", ("cause_data_parallel",)),
    ),
    "Nsight Systems": (
        ("pageable copies", ("copies_pageable",)),
        ("copies that block", ("copies_blocking",)),
        ("memory set while the host waits", ("memsets",)),
        ("calls that synchronize", ("waits", "in_waits")),
        ("gaps", ("idle_medium", "idle_long", "gap_longest")),
        ("utilization over time", ("busy",)),
    ),
    "SageMaker Debugger": (
        ("utilization of the GPU", ("busy",)),
        ("the host busy while the GPU is not", ("threads_active", "late")),
        ("loading", ("in_loader", "late_in_loader")),
        ("outlying steps", ("length_ratio", "cause_step_outlier")),
    ),
}
_MOST_ROWS = 20_000


def peer_scores(task: Task, tool: str) -> Scores:
    """Score windows by a tool's rules.

    Raises:
        NotHere: No column reads anything that the tool looks at.
    """
    columns = rule_columns(task.corpus.columns, tool)
    if not columns:
        raise NotHere(f"no column tells what {tool} looks at")

    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, _MOST_ROWS)
        if not len(rows):
            return None
        fired = [_fired(task, side, rows, some) for some in columns.values()]
        return np.sum(fired, axis=0)

    return Scores(task.by_head(head))


def rule_columns(columns: Sequence[str], tool: str) -> dict[str, list[int]]:
    """Return the columns for each rule of a tool that some column can tell."""
    number = {name: k for k, name in enumerate(columns)}
    found = {
        rule: [number[name] for name in names if name in number]
        for rule, names in PEERS[tool]
    }
    return {rule: some for rule, some in found.items() if some}


def _fired(task: Task, side: int, rows: np.ndarray, columns: list[int]) -> np.ndarray:
    """Return how likely a window is positive, told from one threshold."""
    stump = DecisionTreeClassifier(
        max_depth=1, min_samples_leaf=20, random_state=task.seed
    )
    features = task.corpus.features[:, columns]
    stump.fit(features[rows], task.fold.train[side, rows])
    said: np.ndarray = stump.predict_proba(features[task.rows])[:, 1]
    return said
