# SPDX-License-Identifier: BSD-3-Clause
"""judging/sources.py: areas within each source, and their mean.

Sources differ in how often something is wrong and in nearly every feature. Comparing
a window of one with a window of another rewards telling sources apart: a
detector that only names the source reaches 0.7. So windows are compared within their
source, and the figure is the mean over sources.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

#: A source takes part only with this number of windows of both kinds.
LEAST_OF_EACH = 30


def source_areas(
    said: np.ndarray,
    label: np.ndarray,
    source: np.ndarray,
    least: int = LEAST_OF_EACH,
) -> dict[str, np.ndarray]:
    """Return the area under the ROC curve within each source that has enough.

    Args:
        said: float [n] or [n, columns] for several at once; NaN is not asked (of one)
            or ranks in the middle of its column (of several).
        label: int [n]: 1, 0, or below 0 where it is not scored.
        source: str [n].
        least: The number of windows of both kinds that is enough.

    Returns:
        By source: float [], or float [columns].
    """
    known = label >= 0
    if said.ndim == 1:
        known &= np.isfinite(said)
    found = {}
    for name in np.unique(source[known]):
        here = known & (source == name)
        positive = label[here] == 1
        if min(positive.sum(), (~positive).sum()) >= least:
            found[str(name)] = areas(said[here], positive)
    return found


def source_area(said: np.ndarray, label: np.ndarray, source: np.ndarray) -> float:
    """Return the mean of `source_areas`; NaN without any."""
    found = source_areas(said, label, source)
    return float(np.mean(list(found.values()))) if found else float("nan")


def areas(said: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve of a score, or of each column.

    Args:
        said: float [n] or [n, columns]; a NaN ranks in the middle of its column.
        positive: bool [n], of both kinds.
    """
    empty = np.isnan(said)
    if empty.any():
        counted = ~empty.all(axis=0)
        middle = np.zeros(said.shape[1:])
        middle[counted] = np.nanmedian(said[:, counted], axis=0)
        said = np.where(empty, middle, said)
    ranks = rankdata(said, axis=0)
    ups = int(positive.sum())
    downs = len(positive) - ups
    made: np.ndarray = (ranks[positive].sum(axis=0) - ups * (ups + 1) / 2) / (
        ups * downs
    )
    return made
