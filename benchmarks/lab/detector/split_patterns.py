# SPDX-License-Identifier: BSD-3-Clause
"""split_patterns.py: S4 and S5, which hold out mechanisms and patterns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES, Run
from benchmarks.lab.detector.folds import Fold, Skipped
from benchmarks.lab.detector.split_plan import Plan, tested_or_skipped
from benchmarks.lab.detector.window_labels import NEGATIVE, UNSCORED, of_heads

#: S5 holds out this number of patterns of each side, those with most positive windows.
PATTERNS_HELD = 3
#: Where a larger share of a source's runs has a pattern, its windows are left out of
#: training and not the runs: a simulated host is late nearly everywhere.
_RUNS_HELD = 0.5


def mechanisms(plan: Plan, split: str) -> Iterator[Fold | Skipped]:
    """Hold out one mechanism of each pattern that has several.

    Positive windows are asked about only where a pattern that came about in a held way
    costs something there: the others a detector has been trained for.
    """
    corpus, labels = plan.corpus, plan.labels
    ways = [
        {(c.pattern, c.mechanism) for c in run.causes if not c.natural}
        for run in corpus.runs
    ]
    of: dict[str, set[str]] = {}
    for run in np.array(corpus.runs, object)[plan.learnable]:
        for cause in run.injected():
            of.setdefault(cause.pattern, set()).add(cause.mechanism)
    random = np.random.default_rng([plan.seed, 4])
    held_out = {
        (pattern, sorted(some)[random.integers(len(some))])
        for pattern, some in sorted(of.items())
        if len(some) > 1
    }
    if not held_out:
        yield Skipped(split, "", "no pattern has two mechanisms")
        return
    held = np.array([bool(some & held_out) for some in ways])
    item = f"{len(held_out)} mechanisms"
    fold = plan.holding(split, item, held, twins=True)
    if isinstance(fold, Fold):
        new = [[(p in {q for q, _ in w & held_out}) for p in corpus.patterns]
               for w in ways]  # fmt: skip
        its = (labels.patterns == 1) & np.array(new)[corpus.run] & of_heads(corpus)
        for side in range(len(SIDES)):
            other = ~its[:, corpus.sides == side].any(axis=1)
            fold.test[side, (fold.test[side] == 1) & other] = UNSCORED
        fold = tested_or_skipped(fold)
    yield fold


def kinds(plan: Plan, split: str) -> Iterator[Fold | Skipped]:
    """Hold out a pattern: only the head of its side is asked, only for it."""
    corpus, labels = plan.corpus, plan.labels
    learnable = plan.learnable[corpus.run]
    for side in range(len(SIDES)):
        asked = learnable & (labels.heads[side] == 1)
        positive = (labels.patterns[asked] == 1).sum(axis=0)
        mine = (corpus.sides == side) & of_heads(corpus) & (positive > 0)
        rows = np.flatnonzero(mine)
        for k in rows[np.argsort(-positive[rows], kind="stable")][:PATTERNS_HELD]:
            yield _without_pattern(plan, split, int(k), side)


def _without_pattern(plan: Plan, split: str, k: int, side: int) -> Fold | Skipped:
    """Hold out the runs in which a pattern costs something.

    Of a source most of whose runs have it, some groups are held out instead, and no
    window in which it costs something is trained on.
    """
    corpus, labels = plan.corpus, plan.labels
    pattern, its = corpus.patterns[k], labels.patterns[:, k] == 1
    has = np.array([_costs(run, pattern) for run in corpus.runs])
    has[np.unique(corpus.run[its])] = True
    held = has.copy()
    for source in plan.sources():
        mine = plan.learnable & (plan.source == source)
        if has[mine].mean() > _RUNS_HELD:
            held[mine] = plan.some_groups(mine, split)[mine]
    fold = plan.holding(split, pattern, held, twins=True)
    if not isinstance(fold, Fold):
        return fold
    fold.test[side, (fold.test[side] == 1) & ~its] = UNSCORED
    fold.test[1 - side] = UNSCORED
    saved = corpus.saved[:, k]
    maybe = np.isnan(saved) & corpus.of_windows("complete")
    fold.trained[(saved >= NEGATIVE) | maybe] = False
    fold.train[:, ~fold.trained] = UNSCORED
    return tested_or_skipped(fold)


def _costs(run: Run, pattern: str) -> bool:
    return any(
        cause.saved >= NEGATIVE and pattern in (cause.pattern, *cause.also)
        for cause in run.causes
    )
