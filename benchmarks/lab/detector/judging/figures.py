# SPDX-License-Identifier: BSD-3-Clause
"""judging/figures.py: all figures of section 6 of corpus.md for one fold's scores."""

from __future__ import annotations

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.areas import add_areas, cells_of
from benchmarks.lab.detector.judging.curves import curve_figures
from benchmarks.lab.detector.judging.judged import (
    Judged,
    Resamples,
    Scores,
    draw_groups,
)
from benchmarks.lab.detector.judging.kinds import kind_figures
from benchmarks.lab.detector.judging.pair_counts import count_pairs
from benchmarks.lab.detector.window_labels import Labels

_BINS = 10


def judge(
    corpus: Corpus, labels: Labels, fold: Fold, rows: np.ndarray, scores: Scores
) -> Judged:
    """Return all figures of a detector in a fold.

    Args:
        corpus: Whose windows.
        labels: Labels of all windows.
        fold: Which of them are tested.
        rows: int [n]: the windows that `scores` is about, all the tested ones.
        scores: What the detector says.
    """
    judged = Judged()
    drawn = draw_groups(corpus, rows)
    for side, head in enumerate(SIDES):
        asked = (fold.test[side, rows] >= 0) & np.isfinite(scores.heads[side])
        here = rows[asked]
        said = scores.heads[side, asked].astype(np.float64)
        positive = fold.test[side, here] == 1
        if positive.all() or not positive.any():
            continue
        cells = cells_of(corpus, labels.band[side, here], here)
        add_areas(judged, head, corpus, count_pairs(said, positive, cells), drawn)
        gain = labels.strongest[side, here] * corpus.seconds[here]
        run = corpus.run[here]
        curves = curve_figures(
            said, positive, gain, run, drawn.group_of_run, drawn.weights
        )
        for name, values in curves.items():
            judged.add(f"{head}_{name}", values)
        judged.add(f"{head}_base_rate", np.array([positive.mean()]))
        if scores.probable:
            errors = calibration_errors(said, positive, run, drawn)
            judged.add(f"{head}_ece", errors)
    kind_figures(judged, corpus, labels, fold, rows, scores, drawn)
    return judged


def calibration_errors(
    said: np.ndarray, positive: np.ndarray, run: np.ndarray, drawn: Resamples
) -> np.ndarray:
    """Return the expected calibration error over ten bins of equal width.

    Args:
        said: float [n], 0 to 1.
        positive: bool [n].
        run: int [n]: of each window.
        drawn: To resample with; NaN where no window was drawn.
    """
    bins = np.clip((said * _BINS).astype(int), 0, _BINS - 1)
    off = np.zeros((len(said), _BINS))
    off[np.arange(len(said)), bins] = said - positive
    count = drawn.sums(run, np.ones(len(said)))
    total = np.abs(drawn.sums(run, off)).sum(axis=1)
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
