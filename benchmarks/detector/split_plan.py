# SPDX-License-Identifier: BSD-3-Clause
"""split_plan.py: how each split is made: what is held out of what."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from compact_corpus import SIDES, Corpus
from folds import Fold, Skipped
from window_labels import BANDS, POSITIVE, UNSCORED, Labels

#: S5 holds out so many patterns of each side, those with most positive windows.
PATTERNS_HELD = 3
_TEST_SHARE = 0.3
#: A fold is made otherwise if it would train on a smaller share of the runs than this.
_LEAST_TRAINED = 0.2
_TRAINED_FROM = BANDS[2][0]
_TESTED_BELOW = BANDS[1][0]


class Plan:
    """Makes the folds of one corpus."""

    def __init__(self, corpus: Corpus, labels: Labels, seed: int) -> None:
        self.corpus, self.labels, self.seed = corpus, labels, seed
        self.group = corpus.of_runs("group")
        self.source = corpus.of_runs("source")
        self.gold_runs = self.source == "G"

    def seeds(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out groups of each source."""
        held = np.zeros(len(self.group), bool)
        for source in np.unique(self.source[~self.gold_runs]):
            held |= self._some_groups(self.source == source, split)
        yield self._fold(split, "groups", held, ~held)

    def tasks(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out all families of a task, whatever else they are used for."""
        task, family = self.corpus.of_runs("task"), self.corpus.of_runs("family")
        for item in sorted(set(task.tolist()) - {""}):
            held = np.isin(family, family[task == item]) & (task != "")
            yield self._holding(split, item, held)

    def gpus(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out each GPU that things were simulated for."""
        gpu = self.corpus.of_runs("gpu")
        for item in sorted(set(gpu[self.source == "S"].tolist()) - {""}):
            yield self._holding(split, item, gpu == item)

    def strengths(self, split: str) -> Iterator[Fold | Skipped]:
        """Train where much is saved, test where little is."""
        held = np.zeros(len(self.group), bool)
        for source in np.unique(self.source[~self.gold_runs]):
            held |= self._some_groups(self.source == source, split)
        fold = self._fold(split, "5-10 %", held, ~held)
        if isinstance(fold, Fold):
            strongest = self.labels.strongest
            fold.train[(fold.train == 1) & (strongest < _TRAINED_FROM)] = UNSCORED
            fold.test[(fold.test == 1) & (strongest >= _TESTED_BELOW)] = UNSCORED
            saved = np.array([run.saved() for run in self.corpus.runs])
            weak = (saved >= POSITIVE) & (saved < _TRAINED_FROM)
            fold.trained[weak[self.corpus.run]] = False
            fold.train[:, ~fold.trained] = UNSCORED
        yield fold

    def mechanisms(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out one mechanism of each pattern that has several."""
        of: dict[str, set[str]] = {}
        for run in self.corpus.runs:
            for cause in run.injected():
                of.setdefault(cause.pattern, set()).add(cause.mechanism)
        random = np.random.default_rng([self.seed, 4])
        held_out = {
            (pattern, sorted(ways)[random.integers(len(ways))])
            for pattern, ways in sorted(of.items())
            if len(ways) > 1
        }
        if not held_out:
            yield Skipped(split, "", "no pattern has two mechanisms")
            return
        ways = [
            {(c.pattern, c.mechanism) for c in r.injected()} for r in self.corpus.runs
        ]
        held = np.array([bool(some & held_out) for some in ways])
        yield self._holding(split, f"{len(held_out)} mechanisms", held, twins=True)

    def kinds(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out a pattern: only the head of its side is asked, only for it."""
        positive = (self.labels.patterns == 1).sum(axis=0)
        for side in range(len(SIDES)):
            mine = np.flatnonzero((self.corpus.sides == side) & (positive > 0))
            most = mine[np.argsort(-positive[mine], kind="stable")][:PATTERNS_HELD]
            for k in most:
                yield self._without_pattern(split, int(k), side)

    def generators(self, split: str) -> Iterator[Fold | Skipped]:
        """Train on simulated runs and test on recorded ones, and the other way."""
        for a, b in (("S", "R"), ("R", "S")):
            if {a, b} <= set(self.source):
                item = f"{a}->{b}"
                yield self._fold(split, item, self.source == b, self.source == a)
            else:
                yield Skipped(split, f"{a}->{b}", "one of the sources is not there")

    def gold(self, split: str) -> Iterator[Fold | Skipped]:
        """Test on what a GPU recorded, which nothing was trained or tuned on."""
        if not self.gold_runs.any():
            yield Skipped(split, "", "no run of source G: nothing recorded on a GPU")
            return
        yield self._fold(split, "G", self.gold_runs, ~self.gold_runs, gold=True)

    def origins(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out a third of the origins of real traces."""
        origin, real = self.corpus.of_runs("origin"), self.source == "P"
        names = sorted(set(origin[real]))
        if len(names) < 2:
            yield Skipped(split, "", "real traces of fewer than two origins")
            return
        random = np.random.default_rng([self.seed, 8])
        some = random.permutation(names)[: max(1, len(names) // 3)]
        yield self._holding(
            split, f"{len(some)} of {len(names)} origins", real & np.isin(origin, some)
        )

    def _without_pattern(self, split: str, k: int, side: int) -> Fold | Skipped:
        pattern = self.corpus.patterns[k]
        held = np.array(
            [
                any(c.pattern == pattern and not c.null for c in run.causes)
                for run in self.corpus.runs
            ]
        )
        fold = self._holding(split, pattern, held, twins=True)
        if isinstance(fold, Fold):
            its = self.labels.patterns[:, k] == 1
            fold.test[side, (fold.test[side] == 1) & ~its] = UNSCORED
            fold.test[1 - side] = UNSCORED
            fold.train[:, its] = UNSCORED
        return fold

    def _some_groups(self, among: np.ndarray, split: str) -> np.ndarray:
        """Return the runs of some of the groups of certain runs."""
        names = np.unique(self.group[among])
        random = np.random.default_rng([self.seed, int(split[1:]), len(names)])
        count = max(1, round(_TEST_SHARE * len(names))) if len(names) > 1 else 0
        return np.isin(self.group, random.permutation(names)[:count])

    def _holding(
        self, split: str, item: str, held: np.ndarray, twins: bool = False
    ) -> Fold | Skipped:
        """Test what is held out, train on the groups that have none of it.

        If nearly every group has some of it, half of them are tested, and the rest is
        trained on as far as it is not held out.
        """
        held = held & ~self.gold_runs
        if not held.any():
            return Skipped(split, item, "no run has it")
        touched = np.isin(self.group, self.group[held])
        usable = ~self.gold_runs
        trained = usable & ~touched
        if trained.sum() < _LEAST_TRAINED * usable.sum():
            names = np.unique(self.group[held])
            random = np.random.default_rng([self.seed, int(split[1:]), 1])
            tested = np.isin(
                self.group, random.permutation(names)[: -(-len(names) // 2)]
            )
            trained, held = usable & ~tested & ~held, held & tested
        if twins:
            pair = set(self.corpus.of_runs("twin")[held]) - {""}
            held = held | (np.isin(self.corpus.of_runs("name"), list(pair)) & ~trained)
        return self._fold(split, item, held, trained)

    def _fold(
        self,
        split: str,
        item: str,
        tested: np.ndarray,
        trained: np.ndarray,
        gold: bool = False,
    ) -> Fold | Skipped:
        if not gold:
            tested, trained = tested & ~self.gold_runs, trained & ~self.gold_runs
        shared = np.isin(self.group, self.group[tested])
        here, there = (trained & ~shared)[self.corpus.run], tested[self.corpus.run]
        heads = self.labels.heads
        fold = Fold(
            split,
            item,
            here,
            np.where(here, heads, UNSCORED),
            np.where(there, heads, UNSCORED),
        )
        for side in range(len(SIDES)):
            if len(np.unique(fold.test[side][fold.test[side] >= 0])) == 2:
                return fold
        return Skipped(split, item, "not both kinds of windows to test")
