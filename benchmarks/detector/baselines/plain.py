# SPDX-License-Identifier: BSD-3-Clause
"""baselines/plain.py: one number of a window, or what torchtraceap's rules claim."""

from __future__ import annotations

import warnings

import numpy as np
from judging.figures import Scores
from scipy.stats import rankdata
from sklearn.tree import DecisionTreeClassifier

from baselines.task import Task


def feature_areas(features: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve of each column, by itself.

    Args:
        features: float [n, F]; a NaN ranks in the middle of its column.
        positive: bool [n], of both kinds.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # A column of NaN only.
        middle = np.nan_to_num(np.nanmedian(features, axis=0))
    filled = np.where(np.isnan(features), middle, features)
    ranks = rankdata(filled, axis=0)
    ups = int(positive.sum())
    downs = len(positive) - ups
    return (ranks[positive].sum(axis=0) - ups * (ups + 1) / 2) / (ups * downs)


def best_feature(task: Task) -> Scores:
    """Score by the column that does best where training is allowed, either way up."""

    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, 10_000)
        if not len(rows):
            return None
        features = task.corpus.features
        areas = feature_areas(features[rows], task.fold.train[side, rows] == 1)
        best = int(np.abs(areas - 0.5).argmax())
        column = features[:, best]
        middle = np.nan_to_num(np.nanmedian(column[rows]))
        values = np.nan_to_num(column[task.rows], nan=middle)
        return values if areas[best] > 0.5 else -values

    return Scores(task.by_head(head))


def idle(task: Task) -> Scores:
    """Score by the idle fraction of the device: the trivial labeler."""
    busy = task.corpus.busy[task.rows]
    share = 1 - np.nan_to_num(busy, nan=0.5)
    return Scores(task.both_heads(share), recoverable=1 - np.nan_to_num(busy, nan=1))


def own_rules(task: Task) -> Scores:
    """Score by the wasted fraction that torchtraceap's rules claim."""
    return rule_scores(task, task.corpus.rules)


def own_rules_coarse(task: Task) -> Scores:
    """Score by the same of windows of 512 events."""
    return rule_scores(task, task.corpus.rules_coarse)


def rule_scores(task: Task, rules: np.ndarray) -> Scores:
    """Return a head's sum of what rules claim; the largest claim is the pattern."""
    claims = np.nan_to_num(rules[task.rows])
    sides = task.corpus.sides
    heads = np.stack([claims[:, sides == side].sum(axis=1) for side in (0, 1)])
    return Scores(heads, kinds=claims, recoverable=claims.sum(axis=1).clip(0, 1))


def small_tree(task: Task) -> Scores:
    """Score by a decision tree of depth two on the features."""

    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, 10_000)
        if not len(rows):
            return None
        tree = DecisionTreeClassifier(
            max_depth=2, min_samples_leaf=20, random_state=task.seed
        )
        tree.fit(task.corpus.features[rows], task.fold.train[side, rows])
        return tree.predict_proba(task.corpus.features[task.rows])[:, 1]

    return Scores(task.by_head(head), probable=True)
