# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/injecting.py: whether inserted work betrays itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.lab.detector.ten_checks.check import Check, Evidence
from benchmarks.lab.detector.window_labels import POSITIVE

FLAGS_GOAL = 0.60
SWAP_GOAL = 0.02
#: A sound corpus has harmless injections, and not too many.
YIELD_GOALS = (0.30, 0.98)
_LEAST_PAIRS = 30


def flags_alike(evidence: Evidence) -> Check:
    """1: flags and whatever else was drawn do not tell where something was put in.

    Asked within each source, as sources have flags of their own. Whether a run is good
    is not asked: a larger batch may well make a pattern cost less.
    """
    corpus = evidence.corpus
    goal = f"AUROC <= {FLAGS_GOAL:.2f}"
    name = "recording drawn alike for slow and fixed"
    source, slow = corpus.of_runs("source"), corpus.of_runs("role") == "slow"
    found = []
    for one in sorted(set(source.tolist()) - {"G"}):
        runs = np.flatnonzero(source == one)
        if len(np.unique(corpus.of_runs("group")[runs])) < 10:
            continue
        if any(corpus.runs[k].recording for k in runs) and 0 < slow[runs].mean() < 1:
            found.append((*_told(evidence, runs, slow), one))
    if not found:
        return Check(1, name, goal, None, "skipped", "no flags of both kinds of runs")
    area, told, _ = max(found)
    said = ", ".join(f"{one} {a:.3f}" for a, _, one in found)
    meaning = f"by a tree of depth 3, groups held out: {said}; it looks at {told}"
    return Check(1, name, goal, area, _within(area <= FLAGS_GOAL), meaning)


def _told(evidence: Evidence, runs: np.ndarray, slow: np.ndarray) -> tuple[float, str]:
    """Return how well flags tell slow runs from others, and which tell most."""
    drawn = [_flat(evidence.corpus.runs[k].recording) for k in runs]
    vectors = DictVectorizer(sparse=False)
    table, label = vectors.fit_transform(drawn), slow[runs]
    said, weight = np.zeros(len(runs)), np.zeros(table.shape[1])
    group = evidence.corpus.of_runs("group")[runs]
    for train, test in GroupKFold(5).split(table, groups=group):
        if len(np.unique(label[train])) < 2:
            continue
        tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
        tree.fit(table[train], label[train])
        said[test] = tree.predict_proba(table[test])[:, -1]
        weight += tree.feature_importances_
    names = vectors.get_feature_names_out()[np.argsort(-weight)[:3]]
    return float(roc_auc_score(label, said)), ", ".join(names)


def swapped_labels(evidence: Evidence) -> Check:
    """8: with good and bad swapped in half of the pairs nothing can be learned."""
    corpus = evidence.corpus
    number = {run.name: k for k, run in enumerate(corpus.runs)}
    learnable = corpus.learnable
    # Several slow runs of a real trace share one twin, which has one label only.
    of_twin = {
        number[run.twin]: k
        for k, run in reversed(list(enumerate(corpus.runs)))
        if run.role == "slow" and run.twin in number and learnable[k]
    }
    pairs = [(slow, twin) for twin, slow in sorted(of_twin.items())]
    goal = f"AUROC 0.50 +- {SWAP_GOAL:.2f}"
    name = "labels swapped inside pairs"
    if len(pairs) < _LEAST_PAIRS:
        why = f"{len(pairs)} pairs; at least {_LEAST_PAIRS} are needed"
        return Check(8, name, goal, None, "skipped", why)
    areas = []
    for again in range(4 if evidence.quick else 12):
        random = np.random.default_rng([8, again])
        label = np.full(len(corpus.runs), -1)
        # Exactly half, so that what is left of the true labels is nothing.
        swap = random.permutation(len(pairs)) < len(pairs) // 2
        for (slow, fixed), swapped in zip(pairs, swap, strict=True):
            label[slow], label[fixed] = int(not swapped), int(swapped)
        among = (label >= 0)[corpus.run]
        said = evidence.held_out(label[corpus.run], among)
        known = np.isfinite(said)
        areas.append(roc_auc_score(label[corpus.run][known], said[known]))
    area, error = float(np.mean(areas)), float(np.std(areas) / np.sqrt(len(areas)))
    off = abs(area - 0.5)
    noisy = off <= 2 * error
    verdict = "passed" if off <= SWAP_GOAL else "undecided" if noisy else "failed"
    meaning = f"{len(areas)} times, {len(pairs)} pairs; standard error {error:.3f}"
    return Check(8, name, goal, area, verdict, meaning)  # type: ignore[arg-type]


def injection_yield(evidence: Evidence) -> Check:
    """10: the share of injections that cost at least 5 % of their run.

    Of all that were meant to cost: where one turns out to cost nothing, the run may
    well count as null or fixed, and leaving those out would make every one count.
    """
    saved = [cause.saved for run in evidence.corpus.runs for cause in run.injected()]
    low, high = YIELD_GOALS
    goal = f"{low:.2f} to {high:.2f}"
    name = "injection yield"
    if not saved:
        return Check(10, name, goal, None, "skipped", "nothing was injected")
    share = float(np.mean(np.array(saved) >= POSITIVE))
    meaning = (
        f"of {len(saved)} injections so many cost 5 % of their run; all is too loud"
    )
    return Check(10, name, goal, share, _within(low <= share <= high), meaning)


def _flat(recording: dict[str, Any]) -> dict[str, Any]:
    """Return what was drawn as numbers and words, lists by their text."""
    kinds = (bool, int, float, str)
    return {
        key: value if isinstance(value, kinds) else str(value)
        for key, value in recording.items()
        if value is not None
    }


def _within(there: bool) -> Any:
    return "passed" if there else "failed"
