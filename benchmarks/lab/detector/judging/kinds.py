# SPDX-License-Identifier: BSD-3-Clause
"""judging/kinds.py: the named pattern and the recoverable share.

The pattern is scored in windows that are positive and flagged, at a threshold where
1 % of the tested negatives would be. A name is right if removing that pattern
saves at least 5 % of the window, and nine tenths of the best saving: two fixes may
free the same time.
"""

from __future__ import annotations

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.judged import Judged, Resamples, Scores
from benchmarks.lab.detector.window_labels import Labels

FLAGGED_OF_NEGATIVES = 0.01


def kind_figures(
    judged: Judged,
    corpus: Corpus,
    labels: Labels,
    fold: Fold,
    rows: np.ndarray,
    scores: Scores,
    drawn: Resamples,
) -> None:
    """Add `kind_accuracy`, `kind_macro_f1`, `kind_windows` and `recoverable_error`.

    Where the fold holds a pattern out the names are not asked for: that one was never
    heard of.
    """
    if scores.kinds is not None and fold.split != "S5":
        flagged = np.zeros(len(rows), bool)
        for side in range(len(SIDES)):
            flagged |= _flagged(fold.test[side, rows], scores.heads[side])
        asked = flagged & (labels.kind[rows] >= 0)
        asked &= np.isfinite(scores.kinds).all(axis=1)
        judged.add("kind_windows", np.array([asked.sum()]))
        if asked.any():
            said, here = scores.kinds[asked].argmax(axis=1), rows[asked]
            right = labels.right[here, said]
            truth = np.where(right, said, labels.kind[here])
            run = corpus.run[here]
            judged.add("kind_accuracy", drawn.means(run, right.astype(float)))
            judged.add("kind_macro_f1", macro_f1(truth, said, run, drawn))
    if scores.recoverable is not None:
        saved = np.clip(corpus.saved_all[rows], 0, 1)
        tested = (fold.test[:, rows] >= 0).any(axis=0)
        known = np.isfinite(saved) & np.isfinite(scores.recoverable) & tested
        if known.any():
            off = np.abs(np.clip(scores.recoverable, 0, 1) - saved)[known]
            run = corpus.run[rows[known]]
            judged.add("recoverable_error", drawn.means(run, off))


def macro_f1(
    truth: np.ndarray, said: np.ndarray, run: np.ndarray, drawn: Resamples
) -> np.ndarray:
    """Return the mean F1 of the kinds that are there.

    Args:
        truth: int [n].
        said: int [n].
        run: int [n]: of each window.
        drawn: To resample with; a kind that a resample has none of does not count
            there.
    """
    kinds = np.unique(truth)
    is_it, named = truth[:, None] == kinds, said[:, None] == kinds
    there = drawn.sums(run, is_it.astype(float))
    both = there + drawn.sums(run, named.astype(float))
    hits = 2 * drawn.sums(run, (is_it & named).astype(float))
    each = np.divide(hits, both, out=np.zeros_like(hits), where=both > 0)
    count = (there > 0).sum(axis=1)
    total = np.where(there > 0, each, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def _flagged(test: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Return the windows above the score that 1 % of the negatives reach."""
    negatives = said[(test == 0) & np.isfinite(said)]
    if not len(negatives):
        return np.zeros(len(test), bool)
    limit = np.quantile(negatives, 1 - FLAGGED_OF_NEGATIVES, method="higher")
    return np.isfinite(said) & (said > limit) & (test == 1)
