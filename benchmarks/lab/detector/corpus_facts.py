# SPDX-License-Identifier: BSD-3-Clause
"""corpus_facts.py: contents of a corpus, and the patterns that rules solve.

The goals are those of section 4 of corpus.md. They are about the training data. Test
data are counted beside it; for gold only this count is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.judging.sources import source_area
from benchmarks.lab.detector.window_labels import Labels, of_heads

if TYPE_CHECKING:
    from benchmarks.lab.detector.ten_checks.check import Evidence

_LEAST_WINDOWS = 20
#: What a source is called of whose origins none is trained on.
HELD_OUT = "P, held out"


def facts_of(corpus: Corpus, labels: Labels) -> dict[str, Any]:
    """Return counts and rates, as plain data.

    At the top they are of all that is trained on, under `sources` of each source;
    origins that are held out are one by themselves, and of gold there are counts only.
    `not_known` are runs of which it is not known whether they are good.
    """
    source = corpus.of_runs("source").astype(object)
    source[corpus.of_runs("held_out")] = HELD_OUT
    return {
        "fingerprint": corpus.fingerprint,
        "digest": corpus.digest,
        "columns": len(corpus.columns),
        **_counts(corpus, labels, corpus.learnable),
        "sources": {
            str(name): _counts(corpus, labels, source == name, told=name != "G")
            for name in np.unique(source)
        },
    }


def _counts(
    corpus: Corpus, labels: Labels, runs: np.ndarray, told: bool = True
) -> dict[str, Any]:
    here = runs[corpus.run]
    counts: dict[str, Any] = {
        "traces": int(runs.sum()),
        "windows": int(here.sum()),
        "groups": len(np.unique(corpus.of_runs("group")[runs])),
        "window_rate": None,
    }
    if not told:
        return counts
    positive = (labels.heads == 1).any(axis=0)
    scored = (labels.heads >= 0).any(axis=0)
    with_positive = np.zeros(len(corpus.runs), bool)
    with_positive[np.unique(corpus.run[positive])] = True
    good = runs & (corpus.goodness == 1)
    return counts | {
        "good": int(good.sum()),
        "bad": int((runs & (corpus.goodness == 0)).sum()),
        "not_known": int((runs & (corpus.goodness < 0)).sum()),
        "good_with_positive": _share(with_positive[good]),
        "scored": int((here & scored).sum()),
        "window_rate": _share(positive[here & scored]),
        "head_rates": {
            head: _rate(labels.heads[side, here]) for side, head in enumerate(SIDES)
        },
    }


def goals_of(facts: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Return what is asked of a corpus: what, goal, figure, whether it is met."""
    known = facts["traces"] - facts.get("not_known", 0)
    good = facts["good"] / max(1, known)
    rate = facts["window_rate"] or 0.0
    held = facts["good_with_positive"] or 0.0
    return [
        ("traces", ">= 600", str(facts["traces"]), facts["traces"] >= 600),
        ("windows", ">= 50,000", f"{facts['windows']:,}", facts["windows"] >= 50_000),
        ("good traces", "about half", f"{good:.2f}",
         0.4 <= good <= 0.6),
        ("positive windows", "10-25 %", f"{100 * rate:.1f} %", 0.10 <= rate <= 0.25),
        ("good traces with positive windows", ">= 40 %", f"{100 * held:.0f} %",
         held >= 0.4),
    ]  # fmt: skip


def patterns_of(evidence: Evidence) -> list[dict[str, Any]]:
    """Return, for each pattern with some positive windows, how well it is found.

    Positive windows of the pattern against the negatives of its head: the area under
    the curve, the mean over sources, of what the rules claim of the side, of what they
    claim of this pattern, and of LightGBM trained on other groups, without the columns
    by cause and with them. Where no head is scored (a pattern of
    OF_NO_HEAD, one of the GPU on a host alone) it is the windows that lose under 2 % to
    this pattern. Nothing that is kept for tests is among them.
    """
    corpus, labels = evidence.corpus, evidence.labels
    learnable, asks = corpus.learnable[corpus.run], of_heads(corpus)
    source = corpus.of_windows("source")
    found = []
    for k, pattern in enumerate(corpus.patterns):
        side = int(corpus.sides[k])
        head, own = labels.heads[side], labels.patterns[:, k]
        alone = (corpus.device < 0) & (SIDES[side] == "gpu")
        label = np.where(
            alone | ~asks[k], own, np.where((head == 1) & (own != 1), -1, head)
        )
        label = np.where(learnable, label, -1)
        positive = label == 1
        if positive.sum() < _LEAST_WINDOWS:
            continue
        claims = np.nan_to_num(corpus.rules)
        scores = {
            "rules": claims[:, corpus.sides == side].sum(axis=1),
            "own_rule": claims[:, k],
            "bare": evidence.bare[side],
            "lightgbm": evidence.scores[side],
        }
        asked = label >= 0
        found.append(
            {
                "pattern": pattern,
                "side": SIDES[side],
                "windows": int(positive.sum()),
                "traces": len(np.unique(corpus.run[positive])),
                "rate": _share(positive[asked]),
                **{name: _area(said, label, source) for name, said in scores.items()},
            }
        )
    return sorted(found, key=lambda one: (one["side"], -one["windows"]))


def _area(said: np.ndarray, label: np.ndarray, source: np.ndarray) -> float | None:
    area = source_area(said, label, source)
    return None if np.isnan(area) else round(area, 4)


def _rate(label: np.ndarray) -> float | None:
    return _share(label[label >= 0] == 1)


def _share(there: np.ndarray) -> float | None:
    return round(float(there.mean()), 4) if len(there) else None
