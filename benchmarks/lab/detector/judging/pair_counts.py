# SPDX-License-Identifier: BSD-3-Clause
"""judging/pair_counts.py: areas under ROC curves of parts and resamples.

The area is the share of pairs (a positive, a negative) in the right order, ties half.
Pairs are counted once, by cell: the run, the stratum and the band that a window is in.
Any part of the windows is then a choice of cells, and a resample of the groups is a
weight on them: neither looks at the windows again. scikit-learn's `roc_auc_score` gives
the same for one part; tests compare both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class PairCounts:
    """Pairs in the right order, by cell of the positive and cell of the negative.

    Attributes:
        counts: float64 [A, B].
        positives: int [A, K]: the key of each cell that has positives.
        negatives: int [B, K]: the same of negatives.
        of_positives: float64 [A]: windows in the cell.
        of_negatives: float64 [B].
    """

    counts: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray
    of_positives: np.ndarray
    of_negatives: np.ndarray

    def area(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """Return the area of the chosen cells; NaN without one of the two kinds."""
        pairs = self.of_positives[positive].sum() * self.of_negatives[negative].sum()
        right = self.counts[np.ix_(positive, negative)].sum()
        return float(right / pairs) if pairs else float("nan")

    def areas(
        self,
        positive: np.ndarray,
        negative: np.ndarray,
        group_of_run: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        """Return the area in each resample.

        Args:
            positive: bool [A]: the chosen cells.
            negative: bool [B].
            group_of_run: int: the first number of a key is a run.
            weights: float [R, groups]: how often a resample has each group.

        Returns:
            float64 [R]; NaN where a resample lacks one of the two kinds.
        """
        groups = weights.shape[1]
        of_a = _one_hot(group_of_run[self.positives[positive, 0]], groups)
        of_b = _one_hot(group_of_run[self.negatives[negative, 0]], groups)
        between = of_a @ self.counts[np.ix_(positive, negative)] @ of_b.T
        pairs = (weights @ (of_a @ self.of_positives[positive])) * (
            weights @ (of_b @ self.of_negatives[negative])
        )
        right = np.einsum("rg,gh,rh->r", weights, between, weights, optimize=True)
        return np.divide(right, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def count_pairs(
    scores: np.ndarray, positive: np.ndarray, keys: np.ndarray
) -> PairCounts:
    """Count the pairs in the right order.

    Takes about windows + positives times cells steps.

    Args:
        scores: float [N], no NaN.
        positive: bool [N].
        keys: int [N, K]: the cell of each window; the first number is its run.
    """
    ups = np.flatnonzero(positive)
    ups = ups[np.argsort(scores[ups], kind="stable")]
    downs = np.flatnonzero(~positive)
    of_up, up_cell = np.unique(keys[ups], axis=0, return_inverse=True)
    of_down, down_cell = np.unique(keys[downs], axis=0, return_inverse=True)
    up_cell, down_cell = up_cell.ravel(), down_cell.ravel()
    # Twice: a negative counts for the positives above it, and half for those level.
    below = _starts(scores, ups, downs, down_cell, len(of_down), "right")
    below += _starts(scores, ups, downs, down_cell, len(of_down), "left")
    np.cumsum(below, axis=0, out=below)
    counts = _one_hot(up_cell, len(of_up)) @ below / 2
    return PairCounts(
        counts,
        of_up,
        of_down,
        np.bincount(up_cell, minlength=len(of_up)).astype(float),
        np.bincount(down_cell, minlength=len(of_down)).astype(float),
    )


def _starts(
    scores: np.ndarray,
    ups: np.ndarray,
    downs: np.ndarray,
    cell: np.ndarray,
    cells: int,
    side: Literal["left", "right"],
) -> np.ndarray:
    """Return int32 [positives, cells]: negatives of which this is the first above.

    With "left" one that is level counts as above.
    """
    at = np.searchsorted(scores[ups], scores[downs], side)
    flat = np.bincount(at * cells + cell, minlength=(len(ups) + 1) * cells)
    return flat.reshape(-1, cells)[: len(ups)].astype(np.int32)


def _one_hot(at: np.ndarray, size: int) -> sparse.csr_array:
    ones = np.ones(len(at))
    return sparse.csr_array((ones, (at, np.arange(len(at)))), shape=(size, len(at)))
