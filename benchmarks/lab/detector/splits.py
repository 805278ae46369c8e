# SPDX-License-Identifier: BSD-3-Clause
"""splits.py: training and test data of S0 to S8 of corpus.md's section 5.

A split has a fold for each thing it holds out. No group of runs is on both sides of a
fold except in S0, which supports no claim. Test data (gold, held-out origins) are
never trained on: `folds_of` checks that itself.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.lab.detector.compact_corpus import Corpus
from benchmarks.lab.detector.folds import Fold, Skipped
from benchmarks.lab.detector.split_patterns import kinds, mechanisms
from benchmarks.lab.detector.split_plan import Plan, drawings
from benchmarks.lab.detector.window_labels import UNSCORED, Labels

SPLITS = {
    "S0": "other draws",
    "S1": "a task's model families",
    "S2": "a GPU",
    "S3": "weaker patterns",
    "S4": "mechanisms",
    "S5": "a pattern",
    "S6": "the generator",
    "S7": "gold",
    "S8": "origins of real traces",
}


def folds_of(
    corpus: Corpus, labels: Labels, seed: int = 0
) -> tuple[list[Fold], list[Skipped]]:
    """Return all folds of a corpus, and what there is none for.

    The same corpus and seed give the same folds.

    Raises:
        AssertionError: Something would be on both sides, or trained on that is kept
            for tests.
    """
    plan = Plan(corpus, labels, seed)
    folds: list[Fold] = []
    skipped: list[Skipped] = []
    makers = (plan.seeds, plan.tasks, plan.gpus, plan.strengths,
              partial(mechanisms, plan), partial(kinds, plan), plan.generators,
              plan.gold, plan.origins)  # fmt: skip
    for split, make in zip(SPLITS, makers, strict=True):
        found = list(make(split))
        if not found:
            found = [Skipped(split, "", "the corpus has nothing to hold out")]
        for one in found:
            if isinstance(one, Fold):
                _check(corpus, one)
                folds.append(one)
            else:
                skipped.append(one)
    return folds, skipped


def _check(corpus: Corpus, fold: Fold) -> None:
    tested = np.unique(corpus.run[(fold.test != UNSCORED).any(axis=0)])
    learned = fold.trained | (fold.train != UNSCORED).any(axis=0)
    trained = np.unique(corpus.run[learned])
    units = {"drawing": drawings(corpus)}
    if fold.split != "S0":
        units = {name: corpus.of_runs(name) for name in ("group", "origin")}
    for name, unit in units.items():
        both = set(unit[tested].tolist()) & set(unit[trained].tolist()) - {""}
        if both:
            raise AssertionError(f"{fold.name}: {name} {min(both)} on both sides")
    kept = ~corpus.learnable
    if kept[trained].any():
        raise AssertionError(f"{fold.name}: trains on what is kept for tests")
    if fold.split not in ("S7", "S8") and kept[tested].any():
        raise AssertionError(f"{fold.name}: tests what only S7 and S8 may")
