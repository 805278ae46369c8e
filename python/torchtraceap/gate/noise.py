# SPDX-License-Identifier: BSD-3-Clause
"""noise.py: how far a figure of some steps must move to mean something.

docs/ci.md states the rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

_FEWEST = 3  # Steps that have a spread.
_SURE = 3.0  # Errors that a difference must exceed.


def median_error(values: Sequence[float]) -> float | None:
    """Return how far the median of a sample must move; None of too few values.

    Half of the distance between the values that are √n / 2 ranks above and below the
    median, thrice: of what is normal, that is thrice the error of its median. Unlike a
    median deviation it is not 0 where steps are of two kinds.
    """
    count = len(values)
    if count < _FEWEST:
        return None
    ordered = sorted(values)
    middle, ranks = (count - 1) / 2, math.sqrt(count) / 2
    between = _at(ordered, middle + ranks) - _at(ordered, middle - ranks)
    return _SURE * between / 2


def mean_error(values: Sequence[float]) -> float | None:
    """Return how far the mean of a sample must move; None of too few values."""
    if len(values) < _FEWEST:
        return None
    return _SURE * stdev(values) / math.sqrt(len(values))


def rare_error(total: float, times: int, steps: int) -> float:
    """Return how far ``total / steps`` must move if it came about in `times` of them.

    The binomial error of a few occurrences that cost alike; 0 of as many as steps.
    """
    if not 0 < times < steps:
        return 0.0
    share = times / steps
    return _SURE * total / times * math.sqrt(share * (1 - share) / (steps - 1))


def _at(ordered: Sequence[float], rank: float) -> float:
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    part = rank - below
    return ordered[below] * (1 - part) + ordered[above] * part
