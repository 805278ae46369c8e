# SPDX-License-Identifier: BSD-3-Clause
"""halves.py: a fold of the benchmark in halves: one gets feedback, one is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.lab.detector.baselines.transformer import all_traces, said_of_runs
from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.figures import judge
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.splits import rows_to_test
from benchmarks.lab.detector.window_labels import POSITIVE, UNSCORED, Labels
from benchmarks.lab.explain.choose import flagged
from torchtraceap import _core
from torchtraceap_train.traces import OWN, LearningTrace

RULES, TRUTH, RANDOM, ALL = "rules, then detector", "truth", "random", "all labels"
#: What is judged: the network by itself, and the stack that ships.
VOICES = ("network", "probability")
#: No pattern and no answer, where a pattern's number stands.
SAID_NONE, SILENT = -1, -2


class Half:
    """One fold of S1, its groups halved: A gets feedback, B is judged."""

    def __init__(self, corpus: Corpus, labels: Labels, fold: Fold, seed: int) -> None:
        self.corpus, self.labels, self.fold, self.seed = corpus, labels, fold, seed
        rows = np.flatnonzero((fold.test >= 0).any(axis=0))
        lines = np.unique(corpus.run[rows])
        group, source = corpus.of_runs("group"), corpus.of_runs("source")
        random = np.random.default_rng([seed, 22])
        asked: set[str] = set()
        for one in np.unique(source[lines]):
            names = np.unique(group[lines[source[lines] == one]])
            asked |= set(random.permutation(names)[: len(names) // 2].tolist())
        in_a = np.isin(group[lines], list(asked))
        self.a, self.b = lines[in_a], lines[~in_a & ~np.isin(group[lines], list(asked))]
        in_b = np.isin(corpus.run, self.b)
        test = np.where(in_b, fold.test, UNSCORED)
        self.judged = Fold(fold.split, fold.item, fold.trained, fold.train, test)
        self.rows = rows_to_test(corpus, self.judged)

    def judge(self, model: Any) -> dict[str, dict[str, Any]]:
        """Return areas on B, with resamples of groups, by voice and side."""
        said = said_of_runs(model, self.corpus, np.unique(self.corpus.run[self.rows]))
        where = np.searchsorted(said["at"], self.rows)
        out: dict[str, dict[str, Any]] = {}
        for voice in VOICES:
            scores = Scores(said[voice][where].T.astype(float))
            found = judge(self.corpus, self.labels, self.judged, self.rows, scores)
            out[voice] = {
                side: [found.figures[name], *found.resampled[name].tolist()]
                for side in SIDES
                if (name := f"{side}_auroc") in found.figures
            }
        return out

    def answers(self, teacher: str, said: dict[str, np.ndarray]) -> np.ndarray:
        """Return int [n]: a pattern's number for each flagged row, or SAID_NONE."""
        at, corpus = said["flagged"], self.corpus
        if teacher == RANDOM:
            known = {p.name for p in _core.patterns() if p.user_finding}
            numbers = [k for k, name in enumerate(corpus.patterns) if name in known]
            return np.random.default_rng([self.seed, 3]).choice(numbers, len(at))
        if teacher == TRUTH:
            without = (self.labels.heads[:, at] == 0).all(axis=0)
            kind = self.labels.kind[at]
            return np.where(kind >= 0, kind, np.where(without, SAID_NONE, SILENT))
        rules = np.nan_to_num(corpus.rules[at])
        return np.where(rules.max(axis=1) > 0, rules.argmax(axis=1), said["guess"])

    def flagged_in_a(self, model: Any) -> dict[str, np.ndarray]:
        """Return A's rows that rules or the model flag, and the model's guesses."""
        corpus, said = self.corpus, said_of_runs(model, self.corpus, self.a)
        at = said["at"]
        rules = np.nan_to_num(corpus.rules[at]).max(axis=1) >= POSITIVE
        some = rules | flagged(model, said, corpus.run[at], corpus.device[at])
        side = said["probability"].argmax(axis=1)
        mine = corpus.sides[None, :] == side[:, None]
        guess = np.where(mine, said["types"], -np.inf).argmax(axis=1)
        return {"flagged": at[some], "guess": guess[some]}

    def learned_from(
        self, rows: np.ndarray, answers: np.ndarray
    ) -> list[LearningTrace]:
        """Return A's traces with what answers tell, as `--labels` would read them: a
        pattern makes a window positive on its side, none negative on both."""
        corpus = self.corpus
        begin = np.searchsorted(corpus.run, np.arange(len(corpus.runs) + 1))
        every, out = all_traces(corpus.folder), []
        any_ = np.full((len(corpus.run), 2), UNSCORED, np.int8)
        types = np.full((len(corpus.run), len(corpus.patterns)), UNSCORED, np.int8)
        named = answers >= 0
        at, what = rows[named], answers[named]
        any_[at, corpus.sides[what]] = types[at, what] = 1
        any_[rows[answers == SAID_NONE]] = 0
        kind = np.full(len(corpus.run), -1, np.int16)
        kind[at] = what
        for line in np.unique(corpus.run[rows[answers != SILENT]]):
            here = slice(begin[line], begin[line + 1])
            trace = every[corpus.runs[line].name]
            out.append(
                replace(
                    trace,
                    group=trace.name,
                    source=OWN,
                    any=any_[here],
                    types=types[here],
                    kind=kind[here],
                    recoverable=np.full(len(trace), np.nan, np.float32),
                    bad=None,
                    twin="",
                )
            )
        return out

    def all_labels(self) -> list[LearningTrace]:
        """Return A's traces with all labels that the corpus has: the most that any
        teacher could tell."""
        every = all_traces(self.corpus.folder)
        names = [self.corpus.runs[line].name for line in self.a]
        return [replace(every[name], source=OWN, group=name) for name in names]
