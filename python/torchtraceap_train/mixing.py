# SPDX-License-Identifier: BSD-3-Clause
"""mixing.py: the weights of network and trees beside the rules, chosen across sources.

Programs that were kept from training still come from its sources, where network and
trees look better than elsewhere. A regression on them gives the rules almost no weight,
and the result ranks the windows of other users' traces and of other generators worse
than the rules alone do. So the weights are judged on sources that their choice has not
seen:

- The score of a side is the rules' logit, plus a weight from GRID times the network's
  logit, plus another times the trees'. Only the order of the windows depends on these
  two weights, so nothing else is fitted before they are compared.
- The worth of a combination on a source is the share of the rules' ranking errors
  there, 1 - AUROC, that it removes. The combination with the largest worth in its worst
  source is chosen; if none has a positive worth in all sources, the rules stand alone.
  Areas hardly distinguish the best ones: among those within CLOSE of the best, the
  likeliest is taken, with all sources of the same weight. One that is less likely than
  the rules alone in any source is taken only if all are. A source that the rules rank
  almost without error is left out: there is nothing to add.
- Each source is then left out in turn: the choice is made on the others and judged on
  it. If it ranks worse there than the rules do, by more than a bootstrap interval over
  groups, the rules stand alone as well.
- Slope and bias turn scores into probabilities, by logistic regression in which all
  sources have the same weight.

Weights are not negative, and network and trees are evaluated as if the rules claimed
nothing (detector/stack.h), so a larger claim of the rules never lowers a probability.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import LOSS

#: Weights of network and trees, beside 1 of the rules.
GRID = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
#: A source with fewer windows of both kinds tells nothing of a side.
LEAST_OF_BOTH = 20
#: Combinations whose worth differs by less are equal.
CLOSE = 0.05
#: What rules rank wrong of a source that tells what to add to them.
_LEAST_WRONG = 0.005
_DRAWS, _LOW, _HIGH = 200, 5, 95  # Of the bootstrap; percentiles.
Voices = tuple[float, float]  # The weights of network and trees.
_SILENT: Voices = (0.0, 0.0)
FAMILY: list[Voices] = list(itertools.product(GRID, GRID))


@dataclass(frozen=True)
class Side:
    """The windows of a side whose truth is known.

    Attributes:
        logits: [n, 3]: of network, trees and rules.
        truth: [n]: 1 or 0.
        sources, groups: [n]: where each window comes from.
    """

    logits: NDArray[np.float64]
    truth: NDArray[np.int8]
    sources: NDArray[np.str_]
    groups: NDArray[np.str_]

    def told(self, voices: Voices) -> NDArray[np.float64]:
        """Return the scores of a combination."""
        out: NDArray[np.float64] = self.logits @ np.array([*voices, 1.0])
        return out


@dataclass(frozen=True)
class LeftOut:
    """What the choice without a source does on it: areas under the ROC curve."""

    source: str
    voices: Voices
    windows: tuple[int, int]  # With and without a loss.
    rules: float
    mixed: float
    interval: tuple[float, float]  # Of mixed - rules.

    @property
    def worse(self) -> bool:
        """Whether it is below the rules, by more than the interval."""
        return self.interval[1] < 0


@dataclass(frozen=True)
class Choice:
    """The four weights of a side, and what they rest on."""

    weights: NDArray[np.float32]
    voices: Voices = _SILENT
    left_out: list[LeftOut] = field(default_factory=list)


def choose(side: Side) -> Choice | None:
    """Choose the combination of a side; None: no source tells enough of it."""
    judged = [
        source
        for source in np.unique(side.sources).tolist()
        if np.bincount(side.truth[side.sources == source], minlength=2).min()
        >= LEAST_OF_BOTH
    ]
    if not judged:
        return None
    worth = {source: _worth(side, source) for source in judged}
    left_out = []
    if len(judged) > 1:
        for source in judged:
            others = [other for other in judged if other != source]
            left_out.append(_judged(side, _best(side, worth, others), source))
    alone = any(one.worse for one in left_out)
    voices = _SILENT if alone else _best(side, worth, judged)
    return Choice(_calibrated(side, voices), voices, left_out)


def _best(
    side: Side, worth: dict[str, NDArray[np.float64]], sources: list[str]
) -> Voices:
    """Return the combination of FAMILY that is worth most on these sources."""
    telling = [worth[source] for source in sources if np.isfinite(worth[source]).all()]
    if not telling:
        return _SILENT
    worst = np.min(telling, axis=0)
    if worst.max() <= 0:
        return _SILENT
    at = np.isin(side.sources, sources)
    here = Side(side.logits[at], side.truth[at], side.sources[at], side.groups[at])
    close = np.flatnonzero((worst > 0) & (worst >= worst.max() - CLOSE))
    alone = _unlikely(here, _SILENT, sources)

    def unlikely(voices: Voices) -> tuple[bool, float]:
        ratio = np.log(_unlikely(here, voices, sources) / alone)
        return bool(ratio.max() > 0), float(ratio.mean())

    return min((FAMILY[i] for i in close), key=unlikely)


def _area(truth: NDArray[np.int8], told: NDArray[np.float64]) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, told))


def _worth(side: Side, source: str) -> NDArray[np.float64]:
    """Return what each of FAMILY is worth on a source; NaN if it cannot tell."""
    here = side.sources == source
    areas = [_area(side.truth[here], side.told(voices)[here]) for voices in FAMILY]
    wrong = 1 - areas[FAMILY.index(_SILENT)]
    return (np.array(areas) - 1 + wrong) / (wrong if wrong >= _LEAST_WRONG else np.nan)


def _judged(side: Side, voices: Voices, source: str) -> LeftOut:
    """Judge a combination on a source; its interval is of draws of whole groups."""
    at = np.flatnonzero(side.sources == source)
    truth, groups = side.truth[at], side.groups[at]
    rules, mixed = side.told(_SILENT)[at], side.told(voices)[at]
    return LeftOut(
        source,
        voices,
        (int((truth == 1).sum()), int((truth == 0).sum())),
        _area(truth, rules),
        _area(truth, mixed),
        gain_interval(truth, rules, mixed, groups, _DRAWS, seed=len(at)),
    )


def gain_interval(
    truth: NDArray[np.int8],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.str_],
    draws: int,
    seed: int,
) -> tuple[float, float]:
    """Return the 5th and 95th percentile of the area under the ROC curve of ``after``
    less that of ``before``, over draws of whole groups; 0 if no draw has both kinds of
    windows."""
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    random = np.random.default_rng(seed)
    gains = []
    for _ in range(draws):
        drawn = random.integers(len(rows), size=len(rows))
        some = np.concatenate([rows[i] for i in drawn])
        if len(np.unique(truth[some])) == 2:
            was, now = (_area(truth[some], told[some]) for told in (before, after))
            gains.append(now - was)
    low, high = np.percentile(gains or [0.0], (_LOW, _HIGH))
    return float(low), float(high)


def _unlikely(side: Side, voices: Voices, sources: list[str]) -> NDArray[np.float64]:
    """Return how unlikely a combination finds the truth of each source."""
    weights = _calibrated(side, voices).astype(float)
    score = side.logits @ weights[:3] + weights[3]
    each = np.logaddexp(0, (1 - 2.0 * side.truth) * score)
    return np.array([each[side.sources == source].mean() for source in sources])


def _calibrated(side: Side, voices: Voices) -> NDArray[np.float32]:
    """Return the weights of network, trees and rules, and the bias."""
    from sklearn.linear_model import LogisticRegression

    _, of, sizes = np.unique(side.sources, return_inverse=True, return_counts=True)
    even = (len(of) / len(sizes) / sizes)[of]
    told = side.told(voices)[:, None]
    slope, bias = 1.0, -float(load_torch_module().rules_logit(LOSS))
    if len(np.unique(side.truth)) == 2:
        model = LogisticRegression(C=1.0, max_iter=500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(told, side.truth, sample_weight=even)
        # Rules that tell nothing of it leave the scale that they have by themselves.
        if model.coef_[0, 0] > 0:
            slope, bias = float(model.coef_[0, 0]), float(model.intercept_[0])
    out = slope * np.array([*voices, 1.0, 0.0])
    out[3] = bias
    return out.astype(np.float32)
