# SPDX-License-Identifier: BSD-3-Clause
"""areas.py: areas under ROC curves, within sources, and in draws of whole groups.

Sources differ in how often something is wrong and in nearly every feature, so comparing
a window of one with a window of another rewards telling sources apart. Windows are
compared within their source, and a figure is the mean over sources.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: A source takes part only with this number of windows of both kinds.
LEAST_OF_BOTH = 30
DRAWS = 200
#: An interval needs this share of the draws; the others lack a kind of windows.
LEAST_KEPT = 0.8
#: Ends of an interval, in percent.
_ENDS = (5, 95)


def draw_groups(groups: np.ndarray) -> np.ndarray:
    """Return how often each window counts: float [1 + DRAWS, n].

    The first row, of ones, is the sample itself; the others draw as many groups as
    there are, with replacement.

    Args:
        groups: str [n]: the group of each window.
    """
    names, of = np.unique(groups, return_inverse=True)
    even = np.full(len(names), 1 / len(names))
    drawn = np.random.default_rng(5).multinomial(len(names), even, DRAWS)
    return np.vstack([np.ones(len(groups)), drawn[:, of]])


def areas(said: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the area under the ROC curve in each draw; NaN without both kinds.

    Args:
        said: float [n], no NaN; ties count half.
        positive: bool [n].
        weights: float [R, n]: how often each window counts.

    Returns:
        float64 [R].
    """
    order = np.argsort(said, kind="stable")
    last = np.flatnonzero(np.append(np.diff(said[order]) != 0, True))
    up, down = (
        np.cumsum(weights[:, order] * kind[order], axis=1)[:, last]
        for kind in (positive, ~positive)
    )
    below = down - np.diff(down, axis=1, prepend=0) / 2
    right = (np.diff(up, axis=1, prepend=0) * below).sum(axis=1)
    pairs = up[:, -1] * down[:, -1]
    return np.divide(right, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)


def source_areas(
    said: np.ndarray, label: np.ndarray, source: np.ndarray, weights: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the areas within each source that has enough windows of both kinds.

    Args:
        said: float [n].
        label: int [n]: 1, 0, or below 0 where a window is not scored.
        source: str [n].
        weights: float [R, n].
    """
    found = {}
    for name in np.unique(source[label >= 0]).tolist():
        here = (label >= 0) & (source == name)
        positive = label[here] == 1
        if min(positive.sum(), (~positive).sum()) >= LEAST_OF_BOTH:
            found[name] = areas(said[here], positive, weights[:, here])
    return found


def mean(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of areas, draw by draw; NaN in a draw that a part lacks."""
    out: np.ndarray = np.mean(parts, axis=0)
    return out


def with_interval(values: np.ndarray, form: str = ".3f") -> str:
    """Write a figure, and its interval if enough draws have one: 0.912 (0.90 to 0.93).

    Args:
        values: float [1 + DRAWS]: the figure, then that of each draw.
        form: How the figure and both ends are written.
    """
    text = format(values[0], form)
    known = values[1:][np.isfinite(values[1:])]
    if len(known) < LEAST_KEPT * len(values[1:]):
        return text
    low, high = np.percentile(known, _ENDS)
    return f"{text} ({low:{form}} to {high:{form}})"
