# SPDX-License-Identifier: BSD-3-Clause
"""judging/kinds.py: which pattern it is, and how much could be saved.

The pattern is asked for in windows that are positive and flagged, at a threshold where
1 % of the tested negatives would be. A name is right if the removal of what it names
saves at least 5 % of the window, and nine tenths of what the best would: two fixes may
free the same time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from compact_corpus import SIDES, Corpus
from folds import Fold
from sklearn.metrics import accuracy_score, f1_score
from window_labels import Labels

FLAGGED_OF_NEGATIVES = 0.01


def kind_figures(
    figures: dict[str, float],
    corpus: Corpus,
    labels: Labels,
    fold: Fold,
    rows: np.ndarray,
    scores: Any,
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
        figures["kind_windows"] = float(asked.sum())
        if asked.any():
            said = scores.kinds[asked].argmax(axis=1)
            right = labels.right[rows[asked], said]
            truth = np.where(right, said, labels.kind[rows[asked]])
            figures["kind_accuracy"] = float(accuracy_score(truth, said))
            figures["kind_macro_f1"] = float(
                f1_score(
                    truth,
                    said,
                    labels=np.unique(truth),
                    average="macro",
                    zero_division=0,
                )
            )
    if scores.recoverable is not None:
        truth = np.clip(corpus.saved_all[rows], 0, 1)
        tested = (fold.test[:, rows] >= 0).any(axis=0)
        known = np.isfinite(truth) & np.isfinite(scores.recoverable) & tested
        if known.any():
            off = np.abs(np.clip(scores.recoverable, 0, 1) - truth)[known]
            figures["recoverable_error"] = float(off.mean())


def _flagged(test: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Return the windows above the score that 1 % of the negatives reach."""
    negatives = said[(test == 0) & np.isfinite(said)]
    if not len(negatives):
        return np.zeros(len(test), bool)
    limit = np.quantile(negatives, 1 - FLAGGED_OF_NEGATIVES, method="higher")
    return np.isfinite(said) & (said > limit) & (test == 1)
