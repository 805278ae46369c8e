# SPDX-License-Identifier: BSD-3-Clause
"""probe.py: can a classifier tell simulated windows from real ones?

It sees what a detector would see. Windows of one trace are never on both sides of a
split; real and simulated windows weigh as much together, and so do the traces of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

import torchtraceap

_FOLDS = 5
_SEED = 0
_FEWEST_WINDOWS = 4
_TREES = {
    "n_estimators": 200, "num_leaves": 15, "learning_rate": 0.05,
    "min_child_samples": 20, "subsample": 0.8, "colsample_bytree": 0.5,
    "n_jobs": 1, "random_state": _SEED, "verbose": -1,
}  # fmt: skip


@dataclass(frozen=True)
class Probe:
    """What tells simulated windows from real ones.

    Attributes:
        auroc: Of the classifier, on traces it was not fitted on.
        single: AUROC of each feature alone, the most telling first; 0.5 is chance.
        gain: The share of the classifier's gain that each feature has.
    """

    auroc: float
    real_windows: int
    simulated_windows: int
    single: dict[str, float]
    gain: dict[str, float]


def probe(real: Sequence[Path], simulated: Sequence[Path], shown: int = 15) -> Probe:
    """Fit and judge the classifier by cross-validation over traces."""
    parts, groups, labels = [], [], []
    columns: tuple[str, ...] = ()
    for label, paths in enumerate((real, simulated)):
        for path in paths:
            features = torchtraceap.analyze(path).features()
            if len(features.windows) < _FEWEST_WINDOWS:
                continue
            columns = features.columns
            parts.append(np.asarray(features.windows))
            groups.append(np.full(len(features.windows), len(groups)))
            labels.append(np.full(len(features.windows), label))
    x, group, y = (np.concatenate(each) for each in (parts, groups, labels))
    weight = _weights(group, y)
    scores = np.zeros(len(y))
    gain = np.zeros(len(columns))
    folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=_SEED)
    for fit, judge in folds.split(x, y, group):
        trees = LGBMClassifier(**_TREES, importance_type="gain")
        trees.fit(x[fit], y[fit], sample_weight=weight[fit])
        scores[judge] = trees.predict_proba(x[judge])[:, 1]
        gain += trees.feature_importances_ / max(trees.feature_importances_.sum(), 1)
    alone = {name: _alone(x[:, i], y, weight) for i, name in enumerate(columns)}
    return Probe(
        round(float(roc_auc_score(y, scores, sample_weight=weight)), 4),
        int((y == 0).sum()),
        int((y == 1).sum()),
        _most(alone, shown),
        _most(dict(zip(columns, gain / _FOLDS, strict=True)), shown),
    )


def _weights(group: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weigh traces of a side equally, and the two sides."""
    each = 1.0 / np.bincount(group)[group]
    for label in (0, 1):
        each[y == label] /= each[y == label].sum()
    return each * len(y)


def _alone(column: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    # What is missing is told apart from every number, as trees do.
    value = np.where(np.isnan(column), -1e30, column)
    found = float(roc_auc_score(y, value, sample_weight=weight))
    return max(found, 1 - found)


def _most(values: dict[str, float], shown: int) -> dict[str, float]:
    ranked = sorted(values.items(), key=lambda item: -item[1])[:shown]
    return {name: round(float(value), 4) for name, value in ranked}
