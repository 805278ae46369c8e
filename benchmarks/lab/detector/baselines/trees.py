# SPDX-License-Identifier: BSD-3-Clause
"""baselines/trees.py: gradient-boosted trees, with window labels and with trace labels.

160 trees of 15 leaves (LightGBM) or of depth 5 (CatBoost). A model of its own, trained
on positive windows, predicts the pattern; another predicts the recoverable share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy.stats import rankdata

from benchmarks.lab.detector.baselines.columns import by_cause
from benchmarks.lab.detector.baselines.tabular import realmlp
from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.baselines.trace_labels import UNKNOWN
from benchmarks.lab.detector.judging.judged import Scores

#: Most windows to train a model on.
MOST = 20_000
#: Of patterns: their model has a set of trees for each.
MOST_OF_KINDS = 4_000
_TREES = 160


def boosted(
    seed: int, quick: bool, make: Any = LGBMClassifier, trees: int = _TREES
) -> Any:
    """Return LightGBM as all here use it; quick ones have 50 trees."""
    return make(
        n_estimators=min(50, trees) if quick else trees,
        num_leaves=15,
        learning_rate=0.08,
        min_child_samples=20,
        subsample=0.8,
        subsample_freq=1,
        colsample_bytree=0.5,
        max_bin=63,
        n_jobs=1,
        random_state=seed,
        verbosity=-1,
    )


def _light(task: Task) -> Any:
    return boosted(task.seed, task.quick)


def _cat(task: Task) -> CatBoostClassifier:
    return CatBoostClassifier(
        iterations=50 if task.quick else _TREES,
        depth=5,
        learning_rate=0.12,
        border_count=32,
        thread_count=1,
        random_seed=task.seed,
        allow_writing_files=False,
        verbose=False,
    )


def _supervised(
    task: Task, make: Callable[[Task], Any], without: np.ndarray | None = None
) -> np.ndarray:
    """Return the heads, from all columns but those that are marked."""
    features = task.corpus.features
    if without is not None:
        features = features[:, ~without]

    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, MOST)
        if not len(rows):
            return None
        model = make(task).fit(features[rows], task.fold.train[side, rows])
        said: np.ndarray = model.predict_proba(features[task.rows])[:, 1]
        return said

    return task.by_head(head)


def _weak(task: Task, make: Callable[[Task], Any]) -> np.ndarray:
    """Give each window the label of its trace on that side."""
    features = task.corpus.features

    def head(side: int) -> np.ndarray | None:
        label = task.trace_labels[side]
        rows = task.few(np.flatnonzero(label != UNKNOWN), MOST, 4)
        if len(np.unique(label[rows])) < 2:
            return None
        model = make(task).fit(features[rows], label[rows])
        said: np.ndarray = model.predict_proba(features[task.rows])[:, 1]
        return said

    return task.by_head(head)


def kinds_of(task: Task) -> np.ndarray | None:
    """Return float [n, P]: how likely each pattern is, if there is one."""
    corpus = task.corpus
    rows = np.flatnonzero((task.fold.train == 1).any(axis=0))
    rows = task.few(rows[task.labels.kind[rows] >= 0], MOST_OF_KINDS, 2)
    if len(np.unique(task.labels.kind[rows])) < 2:
        return None
    model = boosted(task.seed, task.quick, trees=40)
    model.fit(corpus.features[rows], task.labels.kind[rows])
    kinds = np.zeros((task.size, len(corpus.patterns)))
    kinds[:, model.classes_] = model.predict_proba(corpus.features[task.rows])
    return kinds


def recoverable_of(task: Task) -> np.ndarray | None:
    """Return float [n]: the share of the window that all fixes would save."""
    rows = task.trained_rows
    rows = task.few(rows[np.isfinite(task.corpus.saved_all[rows])], MOST, 3)
    if len(rows) < 50:
        return None
    model = boosted(task.seed, task.quick, LGBMRegressor, trees=80)
    model.fit(task.corpus.features[rows], task.corpus.saved_all[rows].clip(0, 1))
    said: np.ndarray = model.predict(task.corpus.features[task.rows])
    return said


def lightgbm(task: Task) -> Scores:
    """Score by LightGBM trained on window labels."""
    return task.once(
        "lightgbm",
        lambda: Scores(
            _supervised(task, _light), kinds_of(task), recoverable_of(task), True
        ),
    )


def lightgbm_bare(task: Task) -> Scores:
    """Score by LightGBM without the columns by cause, which are the rules' own shares.

    Raises:
        NotHere: There are no such columns: it would be LightGBM once more.
    """
    without = by_cause(task.corpus.columns)
    if not without.any():
        raise NotHere("no column is by cause")
    return Scores(_supervised(task, _light, without), probable=True)


def lightgbm_weak(task: Task) -> Scores:
    """Score by LightGBM trained on trace labels."""
    return task.once("lightgbm_weak", lambda: Scores(_weak(task, _light)))


def catboost(task: Task) -> Scores:
    """Score by CatBoost trained on window labels."""
    return task.once("catboost", lambda: Scores(_supervised(task, _cat), probable=True))


def catboost_weak(task: Task) -> Scores:
    """Score by CatBoost trained on trace labels."""
    return Scores(_weak(task, _cat))


def stacked(task: Task) -> Scores:
    """Score by the mean of the ranks that rules and LightGBM give."""
    from benchmarks.lab.detector.baselines.plain import own_rules

    trees, rules = lightgbm(task), own_rules(task)

    def head(side: int) -> np.ndarray | None:
        if np.isnan(trees.heads[side]).all():
            return None
        ranks = rankdata(trees.heads[side]) + rankdata(rules.heads[side])
        return np.asarray(ranks) / (2 * task.size)

    return Scores(task.by_head(head), trees.kinds, trees.recoverable)


def together(task: Task) -> Scores:
    """Score by the mean of what LightGBM, CatBoost and RealMLP call likely."""
    trees = lightgbm(task)
    each = [trees.heads, catboost(task).heads, realmlp(task).heads]
    return Scores(np.mean(each, axis=0), trees.kinds, trees.recoverable, True)
