# SPDX-License-Identifier: BSD-3-Clause
"""judging/judged.py: a detector's output, its figures, and the resampling of groups."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.lab.detector.compact_corpus import Corpus

RESAMPLES = 200


@dataclass(frozen=True)
class Scores:
    """A detector's output for the windows it was asked about.

    Attributes:
        heads: float [2, n]: higher is worse; NaN: it says nothing.
        kinds: float [n, P]: which pattern it is, the highest; None, or NaN of a
            window: it does not say.
        recoverable: float [n]: share of the window that would be saved, or None.
        probable: The heads are meant as probabilities.
    """

    heads: np.ndarray
    kinds: np.ndarray | None = None
    recoverable: np.ndarray | None = None
    probable: bool = False


@dataclass
class Judged:
    """Figures of one fold.

    Attributes:
        figures: Name (`cpu_auroc`) and value; NaN if there is none.
        resampled: float [RESAMPLES] of each that has an interval.
        worst: Head and (family, its area): the worst that is known.
    """

    figures: dict[str, float] = field(default_factory=dict)
    resampled: dict[str, np.ndarray] = field(default_factory=dict)
    worst: dict[str, tuple[str, float]] = field(default_factory=dict)

    def add(self, name: str, values: np.ndarray) -> None:
        """Keep a figure: that of the sample, then those of its resamples, if any."""
        self.figures[name] = float(values[0])
        if len(values) > 1:
            self.resampled[name] = values[1:].astype(np.float32)


@dataclass(frozen=True)
class Resamples:
    """Groups drawn with replacement.

    Attributes:
        weights: float [1 + RESAMPLES, groups]: how often each group was drawn; the
            first line, of ones, is the sample itself.
        group_of_run: int [runs].
    """

    weights: np.ndarray
    group_of_run: np.ndarray

    def sums(self, run: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return float [1 + RESAMPLES, ...]: sums over windows, weighed.

        Args:
            run: int [n]: of each window.
            values: float [n, ...].
        """
        groups = self.weights.shape[1]
        of_group = np.zeros((groups, *values.shape[1:]))
        np.add.at(of_group, self.group_of_run[run], values)
        return np.tensordot(self.weights, of_group, 1)

    def means(self, run: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return float [1 + RESAMPLES]: means; NaN where no window was drawn."""
        count = self.sums(run, np.ones(len(run)))
        total = self.sums(run, values)
        return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def draw_groups(corpus: Corpus, rows: np.ndarray) -> Resamples:
    """Draw the groups of a corpus, and keep those that `rows` are of.

    The same for all detectors, so that differences between two detectors can be taken
    resample by resample; and the same in each fold, so that a group that several folds
    test is not taken for several.
    """
    every, of_run = np.unique(corpus.of_runs("group"), return_inverse=True)
    even = np.full(len(every), 1 / len(every))
    drawn = np.random.default_rng(5).multinomial(len(every), even, RESAMPLES)
    tested = np.unique(of_run[corpus.run[rows]])
    weights = np.vstack([np.ones(len(tested)), drawn[:, tested]])
    at = np.searchsorted(tested, of_run).clip(0, max(len(tested) - 1, 0))
    return Resamples(weights, at)
