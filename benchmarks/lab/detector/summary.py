# SPDX-License-Identifier: BSD-3-Clause
"""summary.py: results of folds and seeds drawn together, a row for split and baseline.

A figure is the mean over seeds of a fold, then over the folds of a split. Its interval
is that of the same means in each resample of the groups. A resample in which a fold or
a source of the figure lacks a kind of windows is left out, not averaged over the rest:
that would be another figure. The share of resamples kept is written down, and where it
is under LEAST_KEPT there is no interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.judging.judged import RESAMPLES, Judged
from benchmarks.lab.detector.results_kept import Result

#: Ends of a 95 % interval, in percent.
_ENDS = (2.5, 97.5)
#: An interval of fewer resamples, as a share, would be that of the lucky ones.
LEAST_KEPT = 0.8
#: The figure of each head.
_OF_HEADS = tuple(f"{head}_auroc" for head in SIDES)


@dataclass(frozen=True)
class Figure:
    """A mean and its interval.

    Attributes:
        value: The mean.
        low: The interval's lower end; NaN where there is none.
        high: The same of the upper.
        kept: Share of the resamples that have all folds and sources of the mean; NaN if
            it was not resampled, or is not known.
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")
    kept: float = float("nan")

    def as_list(self) -> list[float]:
        """Return value, low and high for JSON as far as known, the ends to 0.001."""
        values = ((self.value, 4), (self.low, 3), (self.high, 3))
        return [round(float(v), digits) for v, digits in values if not np.isnan(v)]


@dataclass(frozen=True)
class Row:
    """A baseline in a split.

    Attributes:
        figures: By name.
        by_fold: The heads' areas, for differences: what a fold holds out, and float
            [1 + resamples], the mean over seeds.
        worst: Head and (where, area): the fold and family it does worst in.
        by_item: Head and, by what a fold holds out, the area there.
        skipped: Why there are no figures, or "".
        seeds: How many.
        seconds: Total of all folds and seeds.
    """

    figures: dict[str, Figure]
    by_fold: dict[str, dict[str, np.ndarray]]
    worst: dict[str, tuple[str, float]]
    by_item: dict[str, dict[str, float]]
    skipped: str
    seeds: int
    seconds: float

    def as_list(self, name: str) -> list[float]:
        """Return a figure as its own `as_list`; empty if there is none."""
        return self.figures[name].as_list() if name in self.figures else []


def summarize(results: Iterable[Result]) -> dict[tuple[str, str], Row]:
    """Return a row for each (split, baseline)."""
    of: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        of.setdefault((result.split, result.baseline), []).append(result)
    return {key: _row(some) for key, some in of.items()}


def difference(row: Row, other: Row, name: str) -> Figure:
    """Return by how much a row is above another, with an interval of the difference.

    Only folds that both have count: a row with an easy fold alone is not ahead of one
    with all of them.
    """
    mine, others = row.by_fold.get(name, {}), other.by_fold.get(name, {})
    items = [item for item in mine if item in others]
    if not items:
        return Figure(float("nan"))
    by = _means([mine[item] - others[item] for item in items])
    return _figure(float(by[0]), by[1:])


def as_json(rows: dict[tuple[str, str], Row]) -> dict[str, Any]:
    """Return `figures`, their names, and `rows`, each with a list of as many.

    `kept` of a row is by name the share of resamples kept, where that is not all.
    """
    names = sorted({name for row in rows.values() for name in row.figures})
    return {
        "figures": names,
        "rows": [
            {
                "split": split,
                "baseline": baseline,
                "figures": [row.as_list(name) for name in names],
                "kept": {
                    name: round(figure.kept, 3)
                    for name, figure in row.figures.items()
                    if figure.kept < 1
                },
                "worst": {h: [w, round(a, 4)] for h, (w, a) in row.worst.items()},
                "by_item": {
                    h: {i: round(a, 4) for i, a in of.items()}
                    for h, of in row.by_item.items()
                },
                "skipped": row.skipped,
                "seeds": row.seeds,
                "seconds": round(row.seconds, 1),
            }
            for (split, baseline), row in rows.items()
        ],
    }


def _row(results: Sequence[Result]) -> Row:
    ran = [r for r in results if not r.skipped]
    names = sorted({name for r in ran for name in r.judged.figures})
    figures, by_fold = {}, {}
    for name in names:
        folds = {}
        for item in sorted({r.item for r in ran}):
            some = [
                _with_resamples(r.judged, name)
                for r in ran
                if r.item == item and name in r.judged.figures
            ]
            if some:
                folds[item] = np.mean(some, axis=0)
        whole = _means(list(folds.values()))
        figures[name] = _figure(float(whole[0]), whole[1:])
        if name in _OF_HEADS:
            by_fold[name] = folds
    return Row(
        figures,
        by_fold,
        _worst(ran),
        {
            head: {item: float(v[0]) for item, v in by_fold[name].items()}
            for head, name in zip(SIDES, _OF_HEADS, strict=True)
            if name in by_fold
        },
        results[0].skipped if not ran else "",
        len({r.seed for r in ran}),
        sum(r.seconds for r in results),
    )


def _with_resamples(judged: Judged, name: str) -> np.ndarray:
    """Return a figure and its resamples; NaN where there are none."""
    again = judged.resampled.get(name, np.full(RESAMPLES, np.nan))
    return np.concatenate([[judged.figures[name]], again])


def _figure(value: float, resampled: np.ndarray) -> Figure:
    """Return a figure with the interval of its resamples; NaN are left out."""
    known = resampled[np.isfinite(resampled)]
    kept = len(known) / len(resampled) if len(known) else float("nan")
    if not kept >= LEAST_KEPT:
        return Figure(value, kept=kept)
    low, high = np.percentile(known, _ENDS)
    return Figure(value, float(low), float(high), kept)


def _means(again: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean over folds of a figure and of its resamples.

    Args:
        again: float [1 + resamples] of each fold; a fold without the figure itself has
            no part in it.

    Returns:
        float [1 + resamples]: NaN where any other fold is NaN.
    """
    there = [fold for fold in again if not np.isnan(fold[0])]
    if not there:
        return np.full_like(again[0], np.nan)
    made: np.ndarray = np.mean(there, axis=0)
    return made


def _worst(results: Sequence[Result]) -> dict[str, tuple[str, float]]:
    """Return the lowest area of a family in a fold, the mean over seeds."""
    found: dict[str, dict[str, list[float]]] = {}
    for r in results:
        for head, (family, area) in r.judged.worst.items():
            place = f"{r.item}: {family}"
            found.setdefault(head, {}).setdefault(place, []).append(area)
    return {
        head: min(
            ((where, float(np.mean(some))) for where, some in of.items()),
            key=lambda one: one[1],
        )
        for head, of in found.items()
    }
