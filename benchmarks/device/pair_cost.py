# SPDX-License-Identifier: BSD-3-Clause
"""pair_cost.py: costs measured as back-to-back pairs of runs.

Other load on a machine changes the times of a run, so only the two runs of a pair are
compared, in alternating order; an interval tells how far their median can be trusted.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# A pair of one phase: milliseconds without, and with.
Pair = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """Something that costs time.

    Attributes:
        name: What it is called.
        run: Runs without it or, given True, with it, and returns the milliseconds of
            each phase.
    """

    name: str
    run: Callable[[bool], Mapping[str, float]]


@dataclass(frozen=True)
class Cost:
    """A median of pairs, and the interval of 95 % that a bootstrap gives for it."""

    median: float
    low: float
    high: float


def ratio(pairs: Sequence[Pair]) -> Cost:
    """Return how many times as long it takes with it."""
    return _cost([with_it / without for without, with_it in pairs])


def added(pairs: Sequence[Pair]) -> Cost:
    """Return the milliseconds that it adds."""
    return _cost([with_it - without for without, with_it in pairs])


def _cost(values: Sequence[float]) -> Cost:
    draw = random.Random(0)
    medians = sorted(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(2000)
    )
    return Cost(statistics.median(values), medians[50], medians[-51])
