# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/check.py: the result of a check, and scores that several checks read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks.lab.detector.baselines.columns import by_cause
from benchmarks.lab.detector.baselines.trees import boosted
from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.summary import Row
from benchmarks.lab.detector.window_labels import Labels, label_windows

Verdict = Literal["passed", "failed", "undecided", "skipped"]
_FOLDS = 3
#: Most windows to train on in one fold.
_MOST = 15_000


@dataclass(frozen=True)
class Check:
    """One of the ten.

    Attributes:
        number: In section 8.
        name: What is checked.
        goal: In words.
        figure: What was found; None if nothing.
        verdict: `undecided` where the corpus is too small to tell.
        meaning: What the figure says, or why there is none.
    """

    number: int
    name: str
    goal: str
    figure: float | None
    verdict: Verdict
    meaning: str


@dataclass
class Evidence:
    """What checks read: the corpus, the table, trees that saw no window's own group.

    Attributes:
        corpus: All windows.
        rows: The table of baselines, as far as it was made.
        quick: Fewer repetitions.
    """

    corpus: Corpus
    rows: Mapping[tuple[str, str], Row]
    quick: bool = False

    @cached_property
    def labels(self) -> Labels:
        """Labels of all windows."""
        return label_windows(self.corpus)

    @cached_property
    def usable(self) -> np.ndarray:
        """bool [N]: all but gold and origins that are held out."""
        return self.corpus.learnable[self.corpus.run]

    @cached_property
    def scores(self) -> np.ndarray:
        """float [2, N]: LightGBM, trained on other groups; NaN if not usable."""
        return self._heads(None)

    @cached_property
    def bare(self) -> np.ndarray:
        """float [2, N]: the same without the columns by cause, the rules' shares."""
        causes = by_cause(self.corpus.columns)
        return self._heads(np.flatnonzero(~causes)) if causes.any() else self.scores

    def _heads(self, columns: np.ndarray | None) -> np.ndarray:
        heads = np.full((2, len(self.corpus.run)), np.nan)
        for side in range(len(SIDES)):
            label = self.labels.heads[side]
            heads[side] = self.held_out(label, self.usable, columns)
        return heads

    def held_out(
        self, label: np.ndarray, among: np.ndarray, columns: Any = None
    ) -> np.ndarray:
        """Return float [N]: scores of windows by trees trained on other groups.

        Args:
            label: int [N]: 1, 0, or below 0 where it is not to be trained on.
            among: bool [N]: windows to score and train on.
            columns: Indices of features; None: all.
        """
        corpus = self.corpus
        some = slice(None) if columns is None else columns
        features = corpus.features[:, some]
        group = corpus.of_windows("group")
        rows = np.flatnonzero(among)
        said = np.full(len(label), np.nan)
        if len(np.unique(group[rows])) < _FOLDS:
            return said
        random = np.random.default_rng(7)
        for train, test in GroupKFold(_FOLDS).split(rows, groups=group[rows]):
            learn = rows[train][label[rows[train]] >= 0]
            if len(np.unique(label[learn])) < 2:
                continue
            if len(learn) > _MOST:
                learn = random.choice(learn, _MOST, replace=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = boosted(0, self.quick, trees=120)
                model.fit(features[learn], label[learn])
                asked = rows[test]
                said[asked] = model.predict_proba(features[asked])[:, 1]
        return said
