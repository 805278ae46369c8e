# SPDX-License-Identifier: BSD-3-Clause
"""baselines/peers.py: rules of other tools, on the columns that read the same thing.

Each rule is a quantity that a tool looks at. Its threshold is tuned: a decision tree of
one node on the windows to train on, which is kinder to the tool than its own constant,
made for whole traces. A tool's score is the number of its rules that fire, the share of
positives behind each counting. What a tool looks at and no column tells is left out; the
note of a tool says which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from baselines.task import NotHere, Task
from judging.figures import Scores
from sklearn.tree import DecisionTreeClassifier

#: Tool: what its rules look at, a pattern of column names for each. Where it matters
#: a rule fires above (+) or below (-) its threshold; the tree finds that by itself.
PEERS: dict[str, tuple[tuple[str, str], ...]] = {
    "TorchTidy": (
        ("copies of what was just filled", r"cpu_init_then_copy|fill"),
        ("loops that index", r"loop_indexing|index|select"),
        ("matrix products without TF32", r"tensor_core|fp32"),
        ("optimizers of single tensors", r"unfused_optimizer|optimizer"),
        ("loading without workers", r"dataloader|loader"),
        ("gradients filled with zeros", r"zero_grad|fill"),
        ("bias before a norm", r"conv_bias"),
        ("dimensions not of 8", r"misaligned"),
    ),
    "TensorBoard plugin": (
        ("loading, share of the step", r"dataloader|loader"),
        ("communication, share of the step", r"comm_exposed|comm|collective|nccl"),
        ("utilization of the GPU", r"busy"),
        ("tensor cores", r"tensor_core"),
        ("occupancy", r"occupancy"),
        ("blocks a multiprocessor", r"grid|blocks|sm_"),
        ("DataParallel", r"data_parallel"),
    ),
    "Nsight Systems": (
        ("pageable copies", r"pageable"),
        ("copies that block", r"blocking|exposed_copy|sync_cop"),
        ("memory set while the host waits", r"memset"),
        ("calls that synchronize", r"sync"),
        ("gaps", r"gap|idle"),
        ("utilization over time", r"busy"),
    ),
    "SageMaker Debugger": (
        ("utilization of the GPU", r"busy"),
        ("the host busy while the GPU is not", r"host_.*(busy|late|self)|cpu_time"),
        ("loading", r"dataloader|loader"),
        ("outlying steps", r"step_outlier|step"),
        ("balance of devices", r"straggl|balance"),
    ),
}
_MOST_ROWS = 20_000
#: Columns tried for a rule that several could read.
_MOST_COLUMNS = 6


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
    found = {}
    for rule, pattern in PEERS[tool]:
        some = [k for k, name in enumerate(columns) if re.search(pattern, name)]
        if some:
            found[rule] = some[:_MOST_COLUMNS]
    return found


def _fired(task: Task, side: int, rows: np.ndarray, columns: list[int]) -> np.ndarray:
    """Return how likely a window is positive, told from one threshold."""
    stump = DecisionTreeClassifier(
        max_depth=1, min_samples_leaf=20, random_state=task.seed
    )
    features = task.corpus.features[:, columns]
    stump.fit(features[rows], task.fold.train[side, rows])
    said: np.ndarray = stump.predict_proba(features[task.rows])[:, 1]
    return said
