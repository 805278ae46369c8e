# SPDX-License-Identifier: BSD-3-Clause
"""summary.py: results of folds and seeds drawn together, a row for split and baseline.

A figure is the mean over seeds of a fold, then over the folds of a split. Its interval
is that of the same means in each resample of the groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from results_kept import Result

#: Ends of a 95 % interval, in percent.
_ENDS = (2.5, 97.5)


@dataclass(frozen=True)
class Figure:
    """A mean and its interval; the ends are NaN where there is none."""

    value: float
    low: float = float("nan")
    high: float = float("nan")

    def as_list(self) -> list[float | None]:
        """Return value, low and high for JSON: four decimals, None for NaN."""
        values = (self.value, self.low, self.high)
        return [None if np.isnan(v) else round(float(v), 4) for v in values]


@dataclass(frozen=True)
class Row:
    """A baseline in a split.

    Attributes:
        figures: By name.
        resampled: The mean in each resample, for differences.
        worst: Head and (where, area): the fold and family it does worst in.
        by_item: Head and, by what a fold holds out, the area there.
        skipped: Why there are no figures, or "".
        seeds: How many.
        seconds: Of all folds and seeds.
    """

    figures: dict[str, Figure]
    resampled: dict[str, np.ndarray]
    worst: dict[str, tuple[str, float]]
    by_item: dict[str, dict[str, float]]
    skipped: str
    seeds: int
    seconds: float


def summarize(results: Iterable[Result]) -> dict[tuple[str, str], Row]:
    """Return a row for each (split, baseline)."""
    of: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        of.setdefault((result.split, result.baseline), []).append(result)
    return {key: _row(some) for key, some in of.items()}


def difference(row: Row, other: Row, name: str) -> Figure:
    """Return by how much a row is above another, with an interval of the difference."""
    if name not in row.figures or name not in other.figures:
        return Figure(float("nan"))
    value = row.figures[name].value - other.figures[name].value
    if name not in row.resampled or name not in other.resampled:
        return Figure(value)
    return _figure(value, row.resampled[name] - other.resampled[name])


def as_json(rows: dict[tuple[str, str], Row]) -> list[dict[str, Any]]:
    """Return the rows as plain data."""
    return [
        {
            "split": split,
            "baseline": baseline,
            "figures": {n: f.as_list() for n, f in sorted(row.figures.items())},
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
    ]


def _row(results: Sequence[Result]) -> Row:
    ran = [r for r in results if not r.skipped]
    names = sorted({name for r in ran for name in r.judged.figures})
    figures, resampled = {}, {}
    for name in names:
        values, again = [], []
        for item in sorted({r.item for r in ran}):
            some = [
                r.judged for r in ran if r.item == item and name in r.judged.figures
            ]
            if not some:
                continue
            values.append(np.mean([j.figures[name] for j in some]))
            drawn = [j.resampled[name] for j in some if name in j.resampled]
            if drawn:
                again.append(np.mean(drawn, axis=0))
        value = _mean(values)
        if again:
            resampled[name] = _means(again)
            figures[name] = _figure(value, resampled[name])
        else:
            figures[name] = Figure(value)
    return Row(
        figures,
        resampled,
        _worst(ran),
        _by_item(ran),
        results[0].skipped if not ran else "",
        len({r.seed for r in ran}),
        sum(r.seconds for r in results),
    )


def _figure(value: float, resampled: np.ndarray) -> Figure:
    known = resampled[np.isfinite(resampled)]
    # Where many resamples lack one kind of windows, the ends would say too much.
    if len(known) < 0.5 * len(resampled):
        return Figure(value)
    low, high = np.percentile(known, _ENDS)
    return Figure(value, float(low), float(high))


def _mean(values: Sequence[float]) -> float:
    known = [v for v in values if np.isfinite(v)]
    return float(np.mean(known)) if known else float("nan")


def _means(again: Sequence[np.ndarray]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        made: np.ndarray = np.nanmean(again, axis=0)
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


def _by_item(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for head in ("cpu", "gpu"):
        for item in sorted({r.item for r in results}):
            some = [
                r.judged.figures[f"{head}_auroc"]
                for r in results
                if r.item == item and f"{head}_auroc" in r.judged.figures
            ]
            if some:
                found.setdefault(head, {})[item] = _mean(some)
    return found
