# SPDX-License-Identifier: BSD-3-Clause
"""judging/curves.py: figures that need a threshold, in many resamples at once.

A resample weighs each window by how often its group was drawn. Windows of one score are
flagged together: no figure depends on the order in which they lie. No point adjustment:
a window is right or wrong by itself.
"""

from __future__ import annotations

import numpy as np

#: Resamples handled at once, so that what lies in memory stays small.
_AT_ONCE = 25
NAMES = ("auprc", "recall_1fp", "found_1alarm")


def curve_figures(
    scores: np.ndarray,
    positive: np.ndarray,
    gain: np.ndarray,
    run: np.ndarray,
    group_of_run: np.ndarray,
    weights: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return the figures of each resample.

    Args:
        scores: float [N], no NaN.
        positive: bool [N].
        gain: float [N]: time that could be recovered in the window.
        run: int [N].
        group_of_run: int [runs].
        weights: float [R, groups]; a row of ones is the sample itself.

    Returns:
        float64 [R] each: `auprc`, average precision; `recall_1fp`, recall where at most
        1 % of the negatives are flagged; `found_1alarm`, share of the gain in flagged
        positives where there is at most one false alarm a trace.
    """
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    group = group_of_run[run][order]
    up = positive[order].astype(np.float64)
    worth = np.where(positive, np.clip(gain, 0, None), 0.0)[order]
    traces = np.bincount(group_of_run[np.unique(run)], minlength=weights.shape[1])
    parts = []
    for first in range(0, len(weights), _AT_ONCE):
        some = weights[first : first + _AT_ONCE]
        of = some[:, group]
        true = np.cumsum(of * up, axis=1)[:, last]
        false = np.cumsum(of * (1 - up), axis=1)[:, last]
        found = np.cumsum(of * worth, axis=1)[:, last]
        parts.append(_of_curves(true, false, found, some @ traces))
    return {name: np.concatenate([p[k] for p in parts]) for k, name in enumerate(NAMES)}


def _of_curves(
    true: np.ndarray, false: np.ndarray, found: np.ndarray, traces: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(true + false > 0, true / (true + false), 0.0)
        recall = true / true[:, -1:]
        step = np.diff(recall, axis=1, prepend=0.0)
        share = found / found[:, -1:]
        few = false <= 0.01 * false[:, -1:]
        quiet = false <= traces[:, None]
    known = true[:, -1] > 0
    return (
        np.where(known, (precision * step).sum(axis=1), np.nan),
        np.where(known & (false[:, -1] > 0), _most(recall, few), np.nan),
        np.where(found[:, -1] > 0, _most(share, quiet), np.nan),
    )


def _most(values: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    return np.where(allowed, values, 0.0).max(axis=1)
