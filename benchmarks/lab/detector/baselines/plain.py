# SPDX-License-Identifier: BSD-3-Clause
"""baselines/plain.py: one number of a window, or the claims of torchtraceap's rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.judging.sources import areas, source_areas

#: The trivial labelers of the protocol: idle explains most of many a label. Which way
#: up, and which column, is chosen where training is allowed.
IDLE = {
    "busy fraction": ("busy",),
    "host late": ("late", "late_of_idle"),
    "idle after a sync": ("idle_after_wait", "late_in_wait"),
}
_MOST_ROWS = 10_000


def one_column(task: Task, names: Sequence[str] | None = None) -> Scores:
    """Score by the column that does best where training is allowed, either way up.

    The best is that of the highest area within sources, see judging/sources.py.

    Args:
        task: What to score.
        names: Columns to choose from; None: all.

    Raises:
        NotHere: The corpus has none of them.
    """
    columns = task.corpus.columns
    some = [k for k, name in enumerate(columns) if names is None or name in names]
    if not some:
        raise NotHere(f"no column {' or '.join(names or ())}")
    features = task.corpus.features[:, some]
    source = task.corpus.of_windows("source")

    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, _MOST_ROWS)
        if not len(rows):
            return None
        label = task.fold.train[side, rows]
        found = list(source_areas(features[rows], label, source[rows]).values())
        # Too few windows of each source: all together, rather than by chance.
        found = found or [areas(features[rows], label == 1)]
        over = np.mean(found, axis=0)
        best = int(np.abs(over - 0.5).argmax())
        column = features[:, best]
        trained = column[rows][np.isfinite(column[rows])]
        middle = float(np.median(trained)) if len(trained) else 0.0
        values = np.nan_to_num(column[task.rows], nan=middle)
        return values if over[best] > 0.5 else -values

    return Scores(task.by_head(head))


def source_only(task: Task) -> Scores:
    """Score by how often the window's source is positive where training is allowed."""
    source = task.corpus.of_windows("source")

    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, len(source))
        if not len(rows):
            return None
        label = task.fold.train[side, rows]
        said = np.full(task.size, label.mean())
        for name in np.unique(source[rows]):
            said[source[task.rows] == name] = label[source[rows] == name].mean()
        return said

    return Scores(task.by_head(head), probable=True)


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
        rows = task.train_rows(side, _MOST_ROWS)
        if not len(rows):
            return None
        tree = DecisionTreeClassifier(
            max_depth=2, min_samples_leaf=20, random_state=task.seed
        )
        tree.fit(task.corpus.features[rows], task.fold.train[side, rows])
        return tree.predict_proba(task.corpus.features[task.rows])[:, 1]

    return Scores(task.by_head(head), probable=True)
