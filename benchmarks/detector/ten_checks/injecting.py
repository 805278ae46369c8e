# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/injecting.py: whether what was put in betrays itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from compact_corpus import SIDES
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier
from window_labels import POSITIVE

from ten_checks.check import Check, Evidence

FLAGS_GOAL = 0.60
NULL_GOAL = 0.01
SWAP_GOAL = 0.02
#: A sound corpus has harmless injections, and not too many.
YIELD_GOALS = (0.30, 0.98)
#: Flagged is what 5 % of the negatives of good traces exceed.
_FLAGGED = 0.05
_LEAST_WINDOWS = 300
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


def null_injections(evidence: Evidence) -> Check:
    """2: what was touched at no cost is flagged as often as what was not touched."""
    corpus, labels = evidence.corpus, evidence.labels
    role = corpus.of_windows("role")
    good = corpus.of_windows("good") & evidence.usable
    goal = f"within {100 * NULL_GOAL:.0f} point of the base rate"
    group = corpus.of_windows("group")
    off, said, enough = [], [], True
    for side, head in enumerate(SIDES):
        score = evidence.scores[side]
        quiet = (labels.heads[side] == 0) & np.isfinite(score)
        null = quiet & (role == "null")
        plain = quiet & good & (role != "null") & (role != "slow")
        if null.sum() < 50 or plain.sum() < 50:
            continue
        enough &= min(null.sum(), plain.sum()) >= _LEAST_WINDOWS
        limit = np.quantile(score[plain], 1 - _FLAGGED)
        rates = [(score[some] > limit).mean() for some in (null, plain)]
        error = _error(score[null] > limit, group[null])
        off.append((rates[0] - rates[1], error))
        said.append(f"{head}: {rates[0]:.3f} of {null.sum()}, base {rates[1]:.3f}")
        said[-1] += f", standard error {error:.3f}"
    name = "null injections are no false positives"
    if not off:
        return Check(2, name, goal, None, "skipped", "no null injections, or too few")
    worst, error = max(off, key=lambda one: abs(one[0]))
    verdict = _within(abs(worst) <= NULL_GOAL)
    if not enough or (verdict == "failed" and abs(worst) - 2 * error <= NULL_GOAL):
        verdict = "undecided"
    return Check(2, name, goal, float(worst), verdict, "; ".join(said))


def _error(flagged: np.ndarray, group: np.ndarray) -> float:
    """Return the standard error of a rate whose windows come in groups."""
    number = np.unique(group, return_inverse=True)[1]
    off = np.bincount(number, flagged - flagged.mean())
    return float(np.sqrt((off**2).sum()) / len(flagged))


def swapped_labels(evidence: Evidence) -> Check:
    """8: with good and bad swapped in half of the pairs nothing can be learned."""
    corpus = evidence.corpus
    number = {run.name: k for k, run in enumerate(corpus.runs)}
    pairs = [
        (k, number[run.twin])
        for k, run in enumerate(corpus.runs)
        if run.role == "slow" and run.twin in number and run.source != "G"
    ]
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
    """10: the share of injections that cost at least 5 % of their run."""
    saved = [
        cause.saved
        for run in evidence.corpus.runs
        for cause in run.injected()
        if run.role == "slow"
    ]
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
