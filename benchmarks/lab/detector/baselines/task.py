# SPDX-License-Identifier: BSD-3-Clause
"""baselines/task.py: what a baseline gets: a fold, a seed, what others made."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from benchmarks.lab.detector.baselines.trace_labels import UNKNOWN, trace_labels
from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.window_labels import Labels

Made = TypeVar("Made")
_LEAST_OF_SOURCE = 200


class NotHere(Exception):
    """A baseline that cannot run here; the message says why."""


@dataclass
class Task:
    """A fold to train on and windows to score.

    Attributes:
        corpus: All windows.
        labels: Labels of all windows; a baseline reads those of `trained` rows only.
        fold: What may be trained on.
        rows: int [n]: the windows to score.
        seed: For everything that is random.
        quick: Train less: to see that all works, not to compare.
        tabicl: A checkpoint's path, or "".
    """

    corpus: Corpus
    labels: Labels
    fold: Fold
    rows: np.ndarray
    seed: int
    quick: bool = False
    tabicl: str = ""
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many windows to score."""
        return len(self.rows)

    def random(self, *more: int) -> np.random.Generator:
        """Return a generator of this task."""
        return np.random.default_rng([self.seed, *more])

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what `make` makes, made once for all baselines of the task."""
        if name not in self._kept:
            self._kept[name] = make()
        made: Made = self._kept[name]
        return made

    def train_rows(self, side: int, most: int) -> np.ndarray:
        """Return at most `most` labeled windows to train a head on, drawn evenly.

        Empty if they are all of one kind.
        """
        rows = np.flatnonzero(self.fold.train[side] >= 0)
        if len(np.unique(self.fold.train[side, rows])) < 2:
            return rows[:0]
        return self.few(rows, most, side)

    def few(self, rows: np.ndarray, most: int, *more: int) -> np.ndarray:
        """Return at most `most` of the rows, in order, drawn evenly."""
        if len(rows) <= most:
            return rows
        drawn = self.random(most, *more).choice(len(rows), most, replace=False)
        return rows[np.sort(drawn)]

    @cached_property
    def good_rows(self) -> np.ndarray:
        """Windows to train on, of traces that are known to be good as a whole."""
        good = self.corpus.goodness == 1
        return np.flatnonzero(self.fold.trained & good[self.corpus.run])

    @cached_property
    def trace_labels(self) -> np.ndarray:
        """int8 [2, N]: what is known of each window's trace, see trace_labels.py.

        UNKNOWN of what may not be trained on.
        """
        labels = trace_labels(self.corpus)[:, self.corpus.run]
        return np.where(self.fold.trained, labels, UNKNOWN)

    def few_even(self, rows: np.ndarray, most: int) -> np.ndarray:
        """Return at most `most` of the rows, in order, as many of each source.

        A source of fewer than 200 gives what it has, and does not hold the others back.
        """
        source = self.corpus.of_windows("source")[rows]
        names, counts = np.unique(source, return_counts=True)
        if not len(names):
            return rows
        least = counts[counts >= _LEAST_OF_SOURCE].min(initial=most)
        each = min(most // len(names), int(least))
        parts = [self.few(rows[source == name], each, 9) for name in names]
        return np.sort(np.concatenate(parts))

    @cached_property
    def trained_rows(self) -> np.ndarray:
        """Windows to train on, whatever their label."""
        return np.flatnonzero(self.fold.trained)

    @cached_property
    def evened(self) -> np.ndarray:
        """Features of all windows without NaN, each column to one scale.

        What is missing is the median of what is trained on, and said in a column more.
        """
        limit = self.few(self.trained_rows, 20_000)
        make = make_pipeline(
            SimpleImputer(
                strategy="median", add_indicator=True, keep_empty_features=True
            ),
            RobustScaler(quantile_range=(10, 90)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make.fit(self.corpus.features[limit])
            even = make.transform(self.corpus.features)
        return np.clip(even, -4, 4).astype(np.float32)

    def by_head(self, score: Callable[[int], np.ndarray | None]) -> np.ndarray:
        """Return float [2, n] of a function of the side; None becomes NaN."""
        heads = np.full((len(SIDES), self.size), np.nan)
        for side in range(len(SIDES)):
            found = score(side)
            if found is not None:
                heads[side] = found
        return heads

    def both_heads(self, score: np.ndarray) -> np.ndarray:
        """Return float [2, n] of one score that knows no sides."""
        return np.stack([score, score])


@dataclass(frozen=True)
class Baseline:
    """A row of the table.

    Attributes:
        name: What it is called.
        reads: What it learns from: nothing, good traces, trace labels, window labels.
        score: Makes the scores of a task; raises NotHere.
        seeded: Another seed gives other scores.
        note: Caps and whatever else a reader must know.
    """

    name: str
    reads: str
    score: Callable[[Task], Scores]
    seeded: bool = False
    note: str = ""
