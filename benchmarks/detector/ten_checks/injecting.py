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
    """1: the profiler's flags and whatever else was drawn do not tell good from bad."""
    corpus = evidence.corpus
    runs = [k for k, run in enumerate(corpus.runs) if run.source != "G"]
    drawn = [_flat(corpus.runs[k].recording) for k in runs]
    good = corpus.of_runs("good")[runs]
    group = corpus.of_runs("group")[runs]
    goal = f"AUROC <= {FLAGS_GOAL:.2f}"
    name = "recording drawn alike for good and bad"
    if not any(drawn) or good.all() or not good.any() or len(np.unique(group)) < 10:
        return Check(1, name, goal, None, "skipped", "no flags of both kinds of runs")
    vectors = DictVectorizer(sparse=False)
    table = vectors.fit_transform(drawn)
    said, weight = np.zeros(len(runs)), np.zeros(table.shape[1])
    for train, test in GroupKFold(5).split(table, groups=group):
        tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
        tree.fit(table[train], good[train])
        said[test] = tree.predict_proba(table[test])[:, -1]
        weight += tree.feature_importances_
    area = float(roc_auc_score(good, said))
    names = vectors.get_feature_names_out()[np.argsort(-weight)[:3]]
    meaning = f"a tree of depth 3 on {table.shape[1]} flags, groups held out; "
    meaning += f"it looks at {', '.join(names)}"
    return Check(1, name, goal, area, _within(area <= FLAGS_GOAL), meaning)


def null_injections(evidence: Evidence) -> Check:
    """2: what was touched at no cost is flagged as often as what was not touched."""
    corpus, labels = evidence.corpus, evidence.labels
    role = corpus.of_windows("role")
    good = corpus.of_windows("good") & evidence.usable
    goal = f"within {100 * NULL_GOAL:.0f} point of the base rate"
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
        off.append(rates[0] - rates[1])
        said.append(f"{head}: {rates[0]:.3f} of {null.sum()}, base {rates[1]:.3f}")
    name = "null injections are no false positives"
    if not off:
        return Check(2, name, goal, None, "skipped", "no null injections, or too few")
    worst = max(off, key=abs)
    verdict = _within(abs(worst) <= NULL_GOAL) if enough else "undecided"
    return Check(2, name, goal, float(worst), verdict, "; ".join(said))


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
