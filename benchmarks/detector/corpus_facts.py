# SPDX-License-Identifier: BSD-3-Clause
"""corpus_facts.py: what a corpus holds, and which patterns rules solve.

The goals are those of section 4 of corpus.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from compact_corpus import SIDES, Corpus
from judging.pair_counts import count_pairs
from ten_checks.check import Evidence
from window_labels import Labels

_LEAST_WINDOWS = 20


def facts_of(corpus: Corpus, labels: Labels) -> dict[str, Any]:
    """Return counts and rates, as plain data."""
    good = corpus.of_runs("good")
    positive = (labels.heads == 1).any(axis=0)
    with_positive = np.zeros(len(corpus.runs), bool)
    with_positive[np.unique(corpus.run[positive])] = True
    source = corpus.of_runs("source")
    of_windows = corpus.of_windows("source")
    scored = (labels.heads >= 0).any(axis=0)
    return {
        "fingerprint": corpus.fingerprint,
        "digest": corpus.digest,
        "columns": len(corpus.columns),
        "traces": len(corpus.runs),
        "windows": len(corpus.run),
        "groups": len(np.unique(corpus.of_runs("group"))),
        "good": int(good.sum()),
        "good_with_positive": float(with_positive[good].mean()) if good.any() else None,
        "window_rate": float(positive[scored].mean()) if scored.any() else None,
        "head_rates": {
            head: _rate(labels.heads[side]) for side, head in enumerate(SIDES)
        },
        "sources": {
            str(name): {
                "traces": int((source == name).sum()),
                "windows": int((of_windows == name).sum()),
                "window_rate": _share(positive[scored & (of_windows == name)]),
            }
            for name in np.unique(source)
        },
    }


def goals_of(facts: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Return what is asked of a corpus: what, goal, figure, whether it is met."""
    good = facts["good"] / max(1, facts["traces"])
    rate = facts["window_rate"] or 0.0
    held = facts["good_with_positive"] or 0.0
    return [
        ("traces", ">= 600", str(facts["traces"]), facts["traces"] >= 600),
        ("windows", ">= 50,000", f"{facts['windows']:,}", facts["windows"] >= 50_000),
        ("good traces", "about half", f"{good:.2f}", 0.4 <= good <= 0.6),
        ("positive windows", "10-25 %", f"{100 * rate:.1f} %", 0.10 <= rate <= 0.25),
        ("good traces with positive windows", ">= 40 %", f"{100 * held:.0f} %",
         held >= 0.4),
    ]  # fmt: skip


def patterns_of(evidence: Evidence) -> list[dict[str, Any]]:
    """Return, for each pattern with some positive windows, how well it is found.

    Positive windows of the pattern against the negatives of its head: the area under
    the curve of what the rules claim of the side, of what they claim of this pattern,
    and of LightGBM trained on other groups.
    """
    corpus, labels = evidence.corpus, evidence.labels
    found = []
    for k, pattern in enumerate(corpus.patterns):
        side = int(corpus.sides[k])
        positive = (labels.patterns[:, k] == 1) & (labels.heads[side] == 1)
        if positive.sum() < _LEAST_WINDOWS:
            continue
        claims = np.nan_to_num(corpus.rules)
        scores = {
            "rules": claims[:, corpus.sides == side].sum(axis=1),
            "own_rule": claims[:, k],
            "lightgbm": evidence.scores[side],
        }
        asked = positive | (labels.heads[side] == 0)
        found.append(
            {
                "pattern": pattern,
                "side": SIDES[side],
                "windows": int(positive.sum()),
                "traces": len(np.unique(corpus.run[positive])),
                "rate": _share(positive[asked]),
                **{name: _area(said, positive, asked) for name, said in scores.items()},
            }
        )
    return sorted(found, key=lambda one: (one["side"], -one["windows"]))


def _area(said: np.ndarray, positive: np.ndarray, asked: np.ndarray) -> float | None:
    rows = np.flatnonzero(asked & np.isfinite(said))
    up = positive[rows]
    if not len(rows) or up.all() or not up.any():
        return None
    pairs = count_pairs(said[rows], up, np.zeros((len(rows), 1), int))
    return round(pairs.area(np.array([True]), np.array([True])), 4)


def _rate(label: np.ndarray) -> float | None:
    return _share(label[label >= 0] == 1)


def _share(there: np.ndarray) -> float | None:
    return round(float(there.mean()), 4) if len(there) else None
