# SPDX-License-Identifier: BSD-3-Clause
"""judging/figures.py: all figures of section 6 of corpus.md for one fold's scores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from compact_corpus import SIDES, Corpus
from folds import Fold
from window_labels import BANDS, Labels

from judging.curves import curve_figures
from judging.kinds import kind_figures
from judging.pair_counts import PairCounts, count_pairs

RESAMPLES = 200
#: Upper ends of the strata of the busy fraction; the host's own windows are in none.
STRATA = (("idle", 0.5), ("mid", 0.9), ("busy", np.inf))
#: A family is called the worst only if it has so many windows of both kinds.
_LEAST_OF_EACH = 10
_BINS = 10


@dataclass(frozen=True)
class Scores:
    """What a detector says of the windows it was asked about.

    Attributes:
        heads: float [2, n]: higher is worse; NaN: it says nothing.
        kinds: float [n, P]: which pattern it is, the highest; None: it does not say.
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
        worst: Head and (family, its area): the worst that can be told.
    """

    figures: dict[str, float] = field(default_factory=dict)
    resampled: dict[str, np.ndarray] = field(default_factory=dict)
    worst: dict[str, tuple[str, float]] = field(default_factory=dict)

    def add(self, name: str, value: float, resampled: np.ndarray | None) -> None:
        """Keep a figure."""
        self.figures[name] = value
        if resampled is not None:
            self.resampled[name] = resampled.astype(np.float32)


def judge(
    corpus: Corpus, labels: Labels, fold: Fold, rows: np.ndarray, scores: Scores
) -> Judged:
    """Return all figures of a detector in a fold.

    The resamples of a fold are the same whoever is judged, so that differences between
    two detectors can be taken resample by resample.

    Args:
        corpus: Whose windows.
        labels: Of all windows.
        fold: Which of them are tested.
        rows: int [n]: the windows that `scores` is about, all the tested ones.
        scores: What the detector says.
    """
    judged = Judged()
    weights, group_of_run = _resamples(corpus, fold, rows)
    for side, head in enumerate(SIDES):
        asked = (fold.test[side, rows] >= 0) & np.isfinite(scores.heads[side])
        here = rows[asked]
        said = scores.heads[side, asked].astype(np.float64)
        positive = fold.test[side, here] == 1
        if positive.all() or not positive.any():
            continue
        keys = _cells(corpus, labels.band[side, here], here)
        pairs = count_pairs(said, positive, keys)
        _areas(judged, head, corpus, pairs, group_of_run, weights)
        gain = labels.strongest[side, here] * corpus.seconds[here]
        both = np.vstack([np.ones(weights.shape[1]), weights])
        curves = curve_figures(
            said, positive, gain, corpus.run[here], group_of_run, both
        )
        for name, values in curves.items():
            judged.add(f"{head}_{name}", float(values[0]), values[1:])
        judged.add(f"{head}_base_rate", float(positive.mean()), None)
        if scores.probable:
            judged.add(f"{head}_ece", calibration_error(said, positive), None)
    kind_figures(judged.figures, corpus, labels, fold, rows, scores)
    return judged


def calibration_error(said: np.ndarray, positive: np.ndarray) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    bins = np.clip((said * _BINS).astype(int), 0, _BINS - 1)
    count = np.bincount(bins, minlength=_BINS)
    off = np.bincount(bins, said - positive, minlength=_BINS)
    return float(np.abs(off).sum() / count.sum())


def _resamples(
    corpus: Corpus, fold: Fold, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draw groups with replacement; return weights [R, groups], groups of runs."""
    names = corpus.of_runs("group")
    tested = np.unique(names[corpus.run[rows]])
    group_of_run = np.searchsorted(tested, names).clip(0, len(tested) - 1)
    seed = np.frombuffer(fold.name.encode(), np.uint8)
    random = np.random.default_rng(seed.tolist())
    even = np.full(len(tested), 1 / len(tested))
    return random.multinomial(len(tested), even, RESAMPLES).astype(float), group_of_run


def _cells(corpus: Corpus, band: np.ndarray, rows: np.ndarray) -> np.ndarray:
    stratum = np.searchsorted([below for _, below in STRATA], corpus.busy[rows])
    stratum = np.where(np.isnan(corpus.busy[rows]), -1, stratum)
    return np.stack([corpus.run[rows], stratum, band], axis=1)


def _areas(
    judged: Judged,
    head: str,
    corpus: Corpus,
    pairs: PairCounts,
    group_of_run: np.ndarray,
    weights: np.ndarray,
) -> None:
    a, b = pairs.positives, pairs.negatives
    all_a, all_b = np.ones(len(a), bool), np.ones(len(b), bool)
    good, family = corpus.of_runs("good"), corpus.of_runs("family")
    parts = {"auroc": (all_a, all_b), "auroc_bad": (~good[a[:, 0]], ~good[b[:, 0]])}
    for k, (name, _) in enumerate(STRATA):
        parts[f"auroc_{name}"] = (a[:, 1] == k, b[:, 1] == k)
    for k in range(len(BANDS)):
        parts[f"auroc_band{k}"] = (a[:, 2] == k, all_b)
    for name, (ups, downs) in parts.items():
        again = pairs.areas(ups, downs, group_of_run, weights)
        judged.add(f"{head}_{name}", pairs.area(ups, downs), again)

    within, groups = [], []
    for run in np.intersect1d(a[:, 0], b[:, 0]):
        within.append(pairs.area(a[:, 0] == run, b[:, 0] == run))
        groups.append(group_of_run[run])
    if within:
        often = weights[:, groups]
        with np.errstate(invalid="ignore"):
            again = often @ np.array(within) / often.sum(axis=1)
        judged.add(f"{head}_auroc_trace", float(np.mean(within)), again)

    by_family = {}
    for name in np.unique(family[a[:, 0]]):
        ups, downs = family[a[:, 0]] == name, family[b[:, 0]] == name
        counts = pairs.of_positives[ups].sum(), pairs.of_negatives[downs].sum()
        if min(counts) >= _LEAST_OF_EACH:
            by_family[str(name)] = pairs.area(ups, downs)
    if by_family:
        judged.worst[head] = min(by_family.items(), key=lambda one: one[1])
