# SPDX-License-Identifier: BSD-3-Clause
"""judging/areas.py: areas under the ROC curve of one head, whole and in parts.

The head's figure, and each part's, is the mean over the sources of corpus.md's section
4 that have enough windows of both kinds, see sources.py. `pooled` compares all windows
with all, whatever their source.
"""

from __future__ import annotations

import numpy as np

from benchmarks.lab.detector.compact_corpus import Corpus
from benchmarks.lab.detector.judging.judged import Judged, Resamples
from benchmarks.lab.detector.judging.pair_counts import PairCounts
from benchmarks.lab.detector.judging.sources import LEAST_OF_EACH
from benchmarks.lab.detector.window_labels import BANDS

#: Upper ends of the strata of the busy fraction; the host's own windows are in none.
STRATA = (("idle", 0.5), ("mid", 0.9), ("busy", np.inf))
#: A family is called the worst only if a source has this many windows of each kind.
_LEAST_OF_FAMILY = 10


def cells_of(corpus: Corpus, band: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return int [n, 3]: run, stratum and band of windows, for `count_pairs`."""
    stratum = np.searchsorted([below for _, below in STRATA], corpus.busy[rows])
    stratum = np.where(np.isnan(corpus.busy[rows]), -1, stratum)
    return np.stack([corpus.run[rows], stratum, band], axis=1)


def add_areas(
    judged: Judged, head: str, corpus: Corpus, pairs: PairCounts, drawn: Resamples
) -> None:
    """Add the areas of a head.

    Args:
        judged: Where to.
        head: What their names begin with.
        corpus: Whose windows.
        pairs: By cells as `cells_of` gives them.
        drawn: To resample with.
    """
    a, b = pairs.positives, pairs.negatives
    all_a, all_b = np.ones(len(a), bool), np.ones(len(b), bool)

    def area(ups: np.ndarray, downs: np.ndarray) -> np.ndarray:
        return pairs.areas(ups, downs, drawn.group_of_run, drawn.weights)

    judged.add(f"{head}_auroc_pooled", area(all_a, all_b))
    bad = corpus.goodness == 0
    parts = {"auroc": (all_a, all_b), "auroc_bad": (bad[a[:, 0]], bad[b[:, 0]])}
    for k, (name, _) in enumerate(STRATA):
        parts[f"auroc_{name}"] = (a[:, 1] == k, b[:, 1] == k)
    for k in range(len(BANDS)):
        parts[f"auroc_band{k}"] = (a[:, 2] == k, all_b)
    source = corpus.of_runs("source")
    for name, (ups, downs) in parts.items():
        found = {}
        for one in np.unique(source[a[:, 0]]):
            up, down = ups & (source[a[:, 0]] == one), downs & (source[b[:, 0]] == one)
            if _least(pairs, up, down) >= LEAST_OF_EACH:
                found[one] = area(up, down)
        if found:
            # NaN in a resample that any of the sources lacks: no mean over the rest.
            judged.add(f"{head}_{name}", np.mean(list(found.values()), axis=0))
        for one, values in found.items() if name == "auroc" else ():
            judged.add(f"{head}_auroc_in_{one}", values)
    _add_within(judged, head, pairs, drawn)

    by_family = {}
    family = corpus.of_runs("family")
    for name, one in {(family[run], source[run]) for run in a[:, 0]}:
        its = (family == name) & (source == one)
        up, down = its[a[:, 0]], its[b[:, 0]]
        if _least(pairs, up, down) >= _LEAST_OF_FAMILY:
            by_family[f"{name}, {one}"] = pairs.area(up, down)
    if by_family:
        judged.worst[head] = min(by_family.items(), key=lambda of: (of[1], of[0]))


def _add_within(judged: Judged, head: str, pairs: PairCounts, drawn: Resamples) -> None:
    """Add the mean of each trace's own area."""
    a, b = pairs.positives[:, 0], pairs.negatives[:, 0]
    runs = np.intersect1d(a, b)
    if len(runs):
        within = np.array([pairs.area(a == run, b == run) for run in runs])
        judged.add(f"{head}_auroc_trace", drawn.means(runs, within))


def _least(pairs: PairCounts, ups: np.ndarray, downs: np.ndarray) -> float:
    counts = pairs.of_positives[ups].sum(), pairs.of_negatives[downs].sum()
    return float(min(counts))
