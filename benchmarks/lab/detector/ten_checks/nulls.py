# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/nulls.py: whether work inserted at no cost is flagged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.ten_checks.check import Check, Evidence, Verdict

NULL_GOAL = 0.01
#: Flagged is what 5 % of the windows to compare with exceed.
_FLAGGED = 0.05
_LEAST_WINDOWS = 300
_LEAST_GROUPS = 10
#: What is compared at all; below the two above nothing is decided.
_FEW_WINDOWS = 50
#: Standard errors beyond which a difference is significant: six comparisons at 5 %.
_ERRORS = 2.6


@dataclass(frozen=True)
class _Rates:
    """How often null injections are flagged above what they are compared with."""

    place: str
    off: float
    error: float
    windows: int
    groups: int

    @property
    def enough(self) -> bool:
        return self.windows >= _LEAST_WINDOWS and self.groups >= _LEAST_GROUPS

    def __str__(self) -> str:
        return (
            f"{self.place}: {self.off:+.3f} +- {self.error:.3f} "
            f"({self.windows} windows, {self.groups} groups)"
        )


def null_injections(evidence: Evidence) -> Check:
    """2: what was touched at no cost is flagged as often as what was not touched.

    Negative windows of null runs against those of their own twins, or else of the runs
    of the same group without any null injection and without a cost put in: the mean
    over groups of the difference of the rates, in each source by itself.
    """
    goal = f"within {100 * NULL_GOAL:.0f} point of what was not touched"
    name = "null injections are no false positives"
    compared = _compared(evidence)
    found = []
    for source in np.unique(evidence.corpus.of_runs("source")):
        for side in range(len(SIDES)):
            rates = _rates(evidence, str(source), side, compared)
            found += [rates] if rates else []
    if not found:
        return Check(2, name, goal, None, "skipped", "no null injections, or too few")
    return Check(
        2, name, goal, max((one.off for one in found), key=abs), _verdict(found),
        "; ".join(map(str, found)),
    )  # fmt: skip


def _verdict(found: list[_Rates]) -> Verdict:
    if any(
        one.enough and abs(one.off) - _ERRORS * one.error > NULL_GOAL for one in found
    ):
        return "failed"
    if all(one.enough and abs(one.off) <= NULL_GOAL for one in found):
        return "passed"
    return "undecided"


def _compared(evidence: Evidence) -> list[tuple[int, np.ndarray]]:
    """Return each null run, and the runs that it is compared with."""
    runs = evidence.corpus.runs
    plain = np.array(
        [
            run.role in ("fixed", "natural") and not any(c.null for c in run.causes)
            for run in runs
        ]
    )
    number = {run.name: k for k, run in enumerate(runs)}
    group = evidence.corpus.of_runs("group")
    found = []
    for line, run in enumerate(runs):
        if run.role != "null":
            continue
        twin = number.get(run.twin, -1)
        with_it = plain & (group == run.group)
        beside = np.array([twin]) if twin >= 0 and plain[twin] else with_it.nonzero()[0]
        if len(beside):
            found.append((line, beside))
    return found


def _rates(
    evidence: Evidence, source: str, side: int, compared: list[tuple[int, np.ndarray]]
) -> _Rates | None:
    corpus, score = evidence.corpus, evidence.scores[side]
    quiet = (evidence.labels.heads[side] == 0) & np.isfinite(score)
    groups: dict[str, tuple[set[int], set[int]]] = {}
    for line, beside in compared:
        if corpus.runs[line].source == source:
            null, plain = groups.setdefault(corpus.runs[line].group, (set(), set()))
            null.add(line)
            plain.update(beside.tolist())

    def windows(lines: set[int]) -> np.ndarray:
        return score[quiet & np.isin(corpus.run, sorted(lines))]

    pairs = [(windows(null), windows(plain)) for null, plain in groups.values()]
    pairs = [(null, plain) for null, plain in pairs if len(null) and len(plain)]
    counts = np.array([(len(null), len(plain)) for null, plain in pairs])
    if len(pairs) < 2 or counts.sum(axis=0).min() < _FEW_WINDOWS:
        return None
    limit = np.quantile(np.concatenate([plain for _, plain in pairs]), 1 - _FLAGGED)
    off = np.array([(n > limit).mean() - (p > limit).mean() for n, p in pairs])
    # As the variance of a difference of two means asks for.
    weight = counts.prod(axis=1) / counts.sum(axis=1)
    mean = float((weight * off).sum() / weight.sum())
    spread = np.sqrt(((weight * (off - mean)) ** 2).sum()) / weight.sum()
    error = float(spread * np.sqrt(len(pairs) / (len(pairs) - 1)))
    place = f"{SIDES[side]}, {source}"
    return _Rates(place, mean, error, int(counts.sum(axis=0).min()), len(pairs))
