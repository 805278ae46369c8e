# SPDX-License-Identifier: BSD-3-Clause
"""truths.py: what each pattern costs, by scheduling the same program without it.

The same item of both programs takes as long, so the difference is the pattern's alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.lab.corpus.simulation.views import Lowered

_NEGLIGIBLE_NS = 500  # Moments between which less is saved than this are left out.


@dataclass(frozen=True)
class Timed:
    """A program that was scheduled."""

    keys: dict[int, str]
    times: np.ndarray
    span: int

    @classmethod
    def of(cls, lowered: Lowered) -> Timed:
        """Schedule a program."""
        times, span = lowered.program.times()
        return cls(lowered.keys, times, span)

    @property
    def busy(self) -> float:
        """The share of the run in which its own stream works."""
        mine = self.times[list(self.keys)]
        return float((mine[:, 1] - mine[:, 0]).sum() / self.span)


def saved(before: Timed, after: Timed) -> float:
    """Return the share of the run's length that goes without."""
    return 1 - after.span / before.span


def moments(before: Timed, after: Timed) -> np.ndarray:
    """Return which moment of a run comes to pass when in another, as runs.write asks.

    They are the begins and ends of work that both have.
    """
    there = {key: place for place, key in after.keys.items()}
    both = [(p, there[key]) for p, key in before.keys.items() if key in there]
    # Twins may have no work in common: then the ends are all that is known.
    old, new = np.array(both, int).reshape(-1, 2).T
    first = np.concatenate([[0], before.times[old].ravel(), [before.span]])
    second = np.concatenate([[0], after.times[new].ravel(), [after.span]])
    order = np.argsort(first, kind="stable")
    first, second = first[order], np.maximum.accumulate(second[order])
    second = np.minimum(second, after.span)
    return np.stack([first, second])[:, _telling(first - second)].astype(np.int64)


def _telling(shift: np.ndarray) -> np.ndarray:
    """Mark the moments without which what lies between would be off."""
    keep = np.zeros(len(shift), bool)
    keep[[0, -1]] = True
    last = shift[0]
    for at in range(1, len(shift) - 1):
        if abs(shift[at] - last) > _NEGLIGIBLE_NS:
            # Both ends of the stretch in which it changed.
            keep[at - 1 : at + 1] = True
            last = shift[at]
    return keep
