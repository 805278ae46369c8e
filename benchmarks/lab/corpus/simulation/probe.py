# SPDX-License-Identifier: BSD-3-Clause
"""probe.py: can a classifier tell good simulated windows from good real ones?

It sees what a detector would see. Good are windows of a device of which torchtraceap's
rules say that next to nothing is wasted: no other label of real windows is available,
and the same is asked of both sides. Windows of one group (an origin of real traces, a
simulated program) are never on both sides of a split. Sides, and traces of a side,
weigh equally; simulated windows are weighed so that each stratum of the busy fraction
weighs what it weighs among the real ones, as the device is busier by design.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

import torchtraceap
from benchmarks.lab.corpus.simulation.distances import matched

#: What the rules may say is wasted of a good window.
CLEAN = 0.02
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
        auroc: The classifier's AUROC on groups it was not fitted on.
        single: AUROC of each feature alone, the most informative first; 0.5 is chance.
        gain: The share of the classifier's gain that each feature has.
    """

    auroc: float
    real_windows: int
    simulated_windows: int
    single: dict[str, float]
    gain: dict[str, float]


@dataclass(frozen=True)
class Windows:
    """Windows of both sides.

    Attributes:
        x: float32 [N, F].
        made: bool [N]: simulated.
        trace: int [N]: number of the trace.
        group: int [N]: number of the group; groups never share a trace.
        busy: float [N]: busy fraction; NaN of the host alone.
        wasted: float [N]: what the rules say is wasted of it, all together; NaN if
            they say nothing.
        columns: F names.
    """

    x: np.ndarray
    made: np.ndarray
    trace: np.ndarray
    group: np.ndarray
    busy: np.ndarray
    wasted: np.ndarray
    columns: tuple[str, ...]

    def good(self) -> Windows:
        """Return those of a device of which the rules say next to nothing."""
        keep = (self.wasted < CLEAN) & np.isfinite(self.busy)
        few = np.bincount(self.trace[keep], minlength=self.trace.max(initial=0) + 1)
        keep &= few[self.trace] >= _FEWEST_WINDOWS
        return Windows(
            self.x[keep], self.made[keep], self.trace[keep], self.group[keep],
            self.busy[keep], self.wasted[keep], self.columns,
        )  # fmt: skip


def read_windows(
    real: Sequence[tuple[Path, str]], simulated: Sequence[tuple[Path, str]]
) -> Windows:
    """Analyze traces, given with the names of their groups."""
    parts, sizes, made, groups = [], [], [], []
    names: dict[str, int] = {}
    columns: tuple[str, ...] = ()
    for side, several in enumerate((real, simulated)):
        for path, group in several:
            with warnings.catch_warnings():
                # What is odd about a trace is for its user.
                warnings.simplefilter("ignore", UserWarning)
                features = torchtraceap.analyze(path).features()
            columns = features.columns
            parts.append(np.array(features.windows))
            sizes.append(len(parts[-1]))
            made.append(side)
            groups.append(names.setdefault(f"{side} {group}", len(names)))
    x = np.concatenate(parts)
    causes = [k for k, name in enumerate(columns) if name.startswith("cause_")]
    return Windows(
        x,
        np.repeat(np.array(made, bool), sizes),
        np.repeat(np.arange(len(sizes)), sizes),
        np.repeat(groups, sizes),
        x[:, columns.index("busy")],
        x[:, causes].sum(axis=1),
        columns,
    )


def probe(windows: Windows, shown: int = 15) -> Probe:
    """Fit and judge the classifier by cross-validation over groups.

    Raises:
        ValueError: One of the sides has fewer than two groups.
    """
    x, made, weight = windows.x, windows.made, _weights(windows)
    sides = [len(np.unique(windows.group[made == side])) for side in (False, True)]
    if min(sides) < 2:
        raise ValueError(f"{sides[0]} real and {sides[1]} simulated groups; 2 each")
    scores = np.full(len(made), np.nan)
    gain = np.zeros(len(windows.columns))
    folds = StratifiedGroupKFold(min(_FOLDS, *sides), shuffle=True, random_state=_SEED)
    for fit, judge in folds.split(x, made, windows.group):
        if len(np.unique(made[fit])) < 2:
            continue
        trees = LGBMClassifier(**_TREES, importance_type="gain")
        trees.fit(x[fit], made[fit], sample_weight=weight[fit])
        scores[judge] = trees.predict_proba(x[judge])[:, 1]
        gain += trees.feature_importances_ / max(trees.feature_importances_.sum(), 1)
    known = np.isfinite(scores)
    alone = {
        name: _alone(x[:, i], made, weight) for i, name in enumerate(windows.columns)
    }
    return Probe(
        round(
            float(
                roc_auc_score(made[known], scores[known], sample_weight=weight[known])
            ),
            4,
        ),
        int((~made).sum()),
        int(made.sum()),
        _most(alone, shown),
        _most(dict(zip(windows.columns, gain / gain.sum(), strict=True)), shown),
    )


def _weights(windows: Windows) -> np.ndarray:
    each = 1.0 / np.bincount(windows.trace)[windows.trace]
    made = windows.made
    each[made] *= matched(windows.busy[~made], windows.busy[made])
    for side in (False, True):
        each[made == side] /= each[made == side].sum()
    return np.asarray(each * len(each))


def _alone(column: np.ndarray, made: np.ndarray, weight: np.ndarray) -> float:
    # What is missing is told apart from every number, as trees do.
    value = np.where(np.isnan(column), -1e30, column)
    found = float(roc_auc_score(made, value, sample_weight=weight))
    return max(found, 1 - found)


def _most(values: dict[str, float], shown: int) -> dict[str, float]:
    ranked = sorted(values.items(), key=lambda item: -item[1])[:shown]
    return {name: round(float(value), 4) for name, value in ranked}
