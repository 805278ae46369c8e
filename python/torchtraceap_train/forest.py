# SPDX-License-Identifier: BSD-3-Clause
"""forest.py: boosted trees over the columns of windows, learned by LightGBM.

They add up to the same row as the network's: any CPU, any GPU, each pattern,
recoverable. What LightGBM made becomes flat arrays, which ``_torch`` reads: its own
files of text or pickle are never shipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchtraceap_train.traces import LearningTrace

#: Chosen among others on held-out splits (at 4297785ca7).
_TREES = {
    "num_leaves": 15,
    "learning_rate": 0.08,
    "min_child_samples": 20,
    "subsample": 0.8,
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
    "max_bin": 63,
    "n_jobs": 1,
    "verbosity": -1,
    "deterministic": True,
    # Else what is faster today is chosen, and adds up in another order.
    "force_col_wise": True,
}
_ROUNDS = {"any": 160, "kind": 30, "recoverable": 80}
_LEAST = 50

Forest = dict[str, NDArray[Any]]


def grow_forest(traces: Sequence[LearningTrace], outputs: int, seed: int) -> Forest:
    """Return trees for the rows that ``_torch.Network`` has, of ``outputs`` values.

    An output that nothing is known of has no tree and is 0. Raises ImportError without
    LightGBM.
    """
    from lightgbm import LGBMClassifier, LGBMRegressor

    windows = np.concatenate([trace.windows for trace in traces])
    columns = [str(number) for number in range(windows.shape[1])]
    trees: list[tuple[int, dict[str, Any]]] = []

    def grow(make: Any, rounds: int, rows: NDArray[np.intp], truth: Any) -> Any:
        model = make(n_estimators=rounds, random_state=seed, **_TREES)
        model.fit(windows[rows], truth[rows], feature_name=columns)
        dumped = model.booster_.dump_model()["tree_info"]
        return model, [tree["tree_structure"] for tree in dumped]

    any_ = np.concatenate([trace.any for trace in traces])
    for side in range(2):
        rows = np.flatnonzero(any_[:, side] >= 0)
        if len(np.unique(any_[rows, side])) == 2:
            _, grown = grow(LGBMClassifier, _ROUNDS["any"], rows, any_[:, side])
            trees += [(side, tree) for tree in grown]
    kind = np.concatenate([trace.kind for trace in traces])
    rows = np.flatnonzero(kind >= 0)
    classes = np.unique(kind[rows])
    if len(classes) > 2 and len(rows) >= _LEAST:
        model, grown = grow(LGBMClassifier, _ROUNDS["kind"], rows, kind)
        each = [int(model.classes_[i % len(classes)]) for i in range(len(grown))]
        trees += [(2 + name, tree) for name, tree in zip(each, grown, strict=True)]
        # What was never seen is not guessed.
        base = np.full(outputs, -30.0, np.float32)
        base[2 + classes] = 0
        base[:2] = base[-1] = 0
    else:
        base = np.zeros(outputs, np.float32)
    recoverable = np.concatenate([trace.recoverable for trace in traces])
    rows = np.flatnonzero(np.isfinite(recoverable))
    if len(rows) >= _LEAST:
        _, grown = grow(LGBMRegressor, _ROUNDS["recoverable"], rows, recoverable)
        trees += [(outputs - 1, tree) for tree in grown]
    return flatten(trees, base)


def flatten(
    trees: Sequence[tuple[int, dict[str, Any]]], base: NDArray[np.float32]
) -> Forest:
    """Return trees that LightGBM dumped as arrays; nodes come before those below."""
    begin = [0]
    rows: list[tuple[int, float, int, int, int, float]] = []
    for _, root in trees:
        nodes: list[Any] = []
        _lay(root, nodes)
        rows += nodes
        begin.append(len(rows))
    table = list(zip(*rows, strict=True)) if rows else [()] * 6
    types = (np.int64, np.float32, np.int64, np.int64, np.int64, np.float32)
    names = ("column", "bound", "missing_left", "left", "right", "value")
    out: Forest = {
        name: np.array(values, kind)
        for name, values, kind in zip(names, table, types, strict=True)
    }
    out["begin"] = np.array(begin, np.int64)
    out["output"] = np.array([output for output, _ in trees], np.int64)
    out["base"] = base
    return out


def _lay(node: dict[str, Any], nodes: list[Any]) -> int:
    """Append a node and all below it; return its number."""
    at = len(nodes)
    if "split_feature" not in node:
        nodes.append((-1, 0.0, 0, 0, 0, float(node["leaf_value"])))
        return at
    if node["decision_type"] != "<=":
        raise ValueError(f"a split by {node['decision_type']}: only <= is known")
    if node["missing_type"] not in ("NaN", "None"):
        raise ValueError(f"missing values are {node['missing_type']}: not known")
    bound = float(node["threshold"])
    # Columns are float32: below the double is below the next float32 under it.
    low = np.float32(min(max(bound, -3e38), 3e38))
    if float(low) > bound:
        low = np.nextafter(low, np.float32(-np.inf))
    left = node["default_left"] if node["missing_type"] == "NaN" else bound >= 0
    nodes.append(None)
    below = _lay(node["left_child"], nodes), _lay(node["right_child"], nodes)
    nodes[at] = (int(node["split_feature"]), float(low), int(left), *below, 0.0)
    return at
