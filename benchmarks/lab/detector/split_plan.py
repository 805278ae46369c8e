# SPDX-License-Identifier: BSD-3-Clause
"""split_plan.py: how a split is made.

Data that no split trains on (see `Corpus.learnable`: gold, held-out origins) are tested
by S7 and S8 alone. S4 and S5 are in split_patterns.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Fold, Skipped
from benchmarks.lab.detector.window_labels import BANDS, POSITIVE, UNSCORED, Labels

_TEST_SHARE = 0.3
#: What is trained on of a source is chosen otherwise where it would be a smaller share.
_LEAST_TRAINED = 0.2
_TRAINED_FROM = BANDS[2][0]
_TESTED_BELOW = BANDS[1][0]


def drawings(corpus: Corpus) -> np.ndarray:
    """Return int [runs]: runs of one number were drawn together: a run, its twin."""
    line = {run.name: k for k, run in enumerate(corpus.runs)}
    pairs = [(line[r.name], line[r.twin]) for r in corpus.runs if r.twin in line]
    ends = np.array(pairs, int).reshape(-1, 2).T
    size = len(corpus.runs)
    twins = coo_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(size, size))
    number: np.ndarray = connected_components(twins, directed=False)[1]
    return number


def tested_or_skipped(fold: Fold) -> Fold | Skipped:
    """Return the fold if a head of it has both kinds of windows to test."""
    for side in range(len(SIDES)):
        if len(np.unique(fold.test[side][fold.test[side] >= 0])) == 2:
            return fold
    return Skipped(fold.split, fold.item, "not both kinds of windows to test")


class Plan:
    """Makes the folds of one corpus."""

    def __init__(self, corpus: Corpus, labels: Labels, seed: int) -> None:
        self.corpus, self.labels, self.seed = corpus, labels, seed
        self.group = corpus.of_runs("group")
        self.origin = corpus.of_runs("origin")
        self.source = corpus.of_runs("source")
        self.learnable = corpus.learnable

    def sources(self) -> list[str]:
        """Return the sources that there is something to learn from of."""
        return [str(name) for name in np.unique(self.source[self.learnable])]

    def seeds(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out drawings of what was drawn several times: a sanity check."""
        number = drawings(self.corpus)
        random = np.random.default_rng([self.seed, 0])
        held = np.zeros(len(self.group), bool)
        for source in self.sources():
            mine = self.learnable & (self.source == source)
            for group in np.unique(self.group[mine]):
                drawn = np.unique(number[mine & (self.group == group)])
                if len(drawn) > 1:
                    count = max(1, round(_TEST_SHARE * len(drawn)))
                    held |= mine & np.isin(number, random.permutation(drawn)[:count])
            if not held[mine].any():
                yield Skipped(split, source, "no program of it was drawn twice")
        if held.any():
            yield self.fold(split, "draws", held, ~held, share_groups=True)

    def tasks(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out all families of a task, whatever else they are used for."""
        task, family = self.corpus.of_runs("task"), self.corpus.of_runs("family")
        for item in sorted(set(task.tolist()) - {""}):
            held = np.isin(family, family[task == item]) & (task != "")
            yield self.holding(split, item, held)

    def gpus(self, split: str) -> Iterator[Fold | Skipped]:
        """Hold out each GPU that was simulated, and what was recorded on it."""
        gpu = self.corpus.of_runs("gpu")
        for item in sorted(set(gpu[self.source == "S"].tolist()) - {""}):
            yield self.holding(split, item, gpu == item)

    def strengths(self, split: str) -> Iterator[Fold | Skipped]:
        """Train where much is saved, test where little is."""
        held = np.zeros(len(self.group), bool)
        for source in self.sources():
            mine = self.learnable & (self.source == source)
            held |= mine & self.some_groups(mine, split)
        fold = self.fold(split, "5-10 %", held, ~held)
        if isinstance(fold, Fold):
            strongest = self.labels.strongest
            fold.train[(fold.train == 1) & (strongest < _TRAINED_FROM)] = UNSCORED
            fold.test[(fold.test == 1) & (strongest >= _TESTED_BELOW)] = UNSCORED
            saved = np.array([run.saved() for run in self.corpus.runs])
            weak = (saved >= POSITIVE) & (saved < _TRAINED_FROM)
            fold.trained[weak[self.corpus.run]] = False
            fold.train[:, ~fold.trained] = UNSCORED
            fold = tested_or_skipped(fold)
        yield fold

    def generators(self, split: str) -> Iterator[Fold | Skipped]:
        """Train on simulated runs and test on recorded ones, and the other way."""
        for a, b in (("S", "R"), ("R", "S")):
            if {a, b} <= set(self.source):
                item = f"{a}->{b}"
                yield self.fold(split, item, self.source == b, self.source == a)
            else:
                yield Skipped(split, f"{a}->{b}", "one of the sources is not there")

    def gold(self, split: str) -> Iterator[Fold | Skipped]:
        """Test on what a GPU recorded, which nothing was trained or tuned on."""
        gold = self.source == "G"
        if gold.any():
            yield self.fold(split, "G", gold, self.learnable)
        else:
            yield Skipped(split, "", "no run of source G: nothing recorded on a GPU")

    def origins(self, split: str) -> Iterator[Fold | Skipped]:
        """Test on the origins of real traces that are kept out of all training."""
        held = (self.source == "P") & self.corpus.of_runs("held_out")
        if held.any():
            item = f"{len(np.unique(self.origin[held]))} origins"
            yield self.fold(split, item, held, self.learnable)
        else:
            yield Skipped(split, "", "no run of an origin that is held out")

    def some_groups(self, among: np.ndarray, split: str) -> np.ndarray:
        """Return the runs of some of the groups of certain runs."""
        names = np.unique(self.group[among])
        random = np.random.default_rng([self.seed, int(split[1:]), len(names)])
        count = max(1, round(_TEST_SHARE * len(names))) if len(names) > 1 else 0
        return np.isin(self.group, random.permutation(names)[:count])

    def holding(
        self, split: str, item: str, held: np.ndarray, twins: bool = False
    ) -> Fold | Skipped:
        """Test what is held out, train on the groups that have none of it.

        If nearly every group of a source has some of it, half of these are tested, and
        the rest of the source is trained on as far as it is not held out.

        Args:
            split: Key of SPLITS.
            item: What is held out, in words.
            held: bool [runs].
            twins: Test the twins of what is held out as well.
        """
        held = held & self.learnable
        if not held.any():
            return Skipped(split, item, "no run has it")
        touched = np.isin(self.group, self.group[held])
        trained, tested = self.learnable & ~touched, held.copy()
        for number, source in enumerate(self.sources()):
            mine = self.learnable & (self.source == source)
            if trained[mine].mean() < _LEAST_TRAINED and held[mine].any():
                names = np.unique(self.group[mine & held])
                random = np.random.default_rng([self.seed, int(split[1:]), number])
                half = random.permutation(names)[: -(-len(names) // 2)]
                asked = np.isin(self.group, half)
                trained |= mine & ~asked & ~held
                tested &= ~mine | asked
        if twins:
            pair = set(self.corpus.of_runs("twin")[tested]) - {""}
            its = np.isin(self.corpus.of_runs("name"), list(pair)) & self.learnable
            tested |= its & ~trained
        return self.fold(split, item, tested, trained)

    def fold(
        self,
        split: str,
        item: str,
        tested: np.ndarray,
        trained: np.ndarray,
        share_groups: bool = False,
    ) -> Fold | Skipped:
        """Return a fold of runs, bool [runs] each, or why there is none.

        What is not learnable is not trained on, nor tested but by S7 and S8, and no
        group or origin of what is tested is trained on (unless they may share groups).
        """
        if split not in ("S7", "S8"):
            tested = tested & self.learnable
        trained = trained & self.learnable & ~tested
        if not share_groups:
            trained &= ~np.isin(self.group, self.group[tested])
            trained &= ~np.isin(self.origin, list(set(self.origin[tested]) - {""}))
        here, there = trained[self.corpus.run], tested[self.corpus.run]
        heads = self.labels.heads
        return tested_or_skipped(
            Fold(
                split,
                item,
                here,
                np.where(here, heads, UNSCORED),
                np.where(there, heads, UNSCORED),
            )
        )
