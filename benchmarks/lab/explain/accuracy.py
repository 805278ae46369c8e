# SPDX-License-Identifier: BSD-3-Clause
"""accuracy.py: how often answers are right, with intervals over groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.lab.explain.asked_windows import NONE, Asked

RESAMPLES = 1000
#: Of repeats: right in all, in some, in none.
STABILITY = ("stable pass", "flaky", "stable fail")


def figures(
    windows: Sequence[Asked], answers: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return the figures of one set of answers, each `[value, low, high]` of 95 %.

    `accuracy` and `macro_f1` are of windows with a pattern; `no_answer` and
    `none_of_pattern` say for which share of them none was given, or NONE; `none_right`
    is the share of the windows without a pattern that are called NONE.
    """
    random = np.random.default_rng(5)
    some = [w for w in windows if w.truth != NONE]
    none = [w for w in windows if w.truth == NONE]
    said = [answers.get(w.key) for w in some]
    right = np.array([w.is_right(a) for w, a in zip(some, said, strict=True)], float)
    truth = [a if w.is_right(a) else w.truth for w, a in zip(some, said, strict=True)]
    drawn = draws([w.group for w in some], random)
    out: dict[str, Any] = {
        "windows": len(some),
        "groups": len({w.group for w in some}),
        "accuracy": interval([right[rows].mean() for rows in drawn]),
        "macro_f1": interval([_macro_f1(truth, said, rows) for rows in drawn]),
        "no_answer": float(np.mean([a is None for a in said])),
        "none_of_pattern": float(np.mean([a == NONE for a in said])),
    }
    if none:
        is_none = np.array([answers.get(w.key) == NONE for w in none], float)
        drawn = draws([w.group for w in none], random)
        out["none_windows"] = len(none)
        out["none_right"] = interval([is_none[rows].mean() for rows in drawn])
    return out


def stability(
    windows: Sequence[Asked], answers: Mapping[str, Sequence[str | None]]
) -> dict[str, int]:
    """Count the windows that repeats get right always, now and then, never."""
    found = dict.fromkeys(STABILITY, 0)
    for window in windows:
        right = [window.is_right(answer) for answer in answers[window.key]]
        name = STABILITY[0] if all(right) else STABILITY[1 if any(right) else 2]
        found[name] += 1
    return found


def difference(
    windows: Sequence[Asked],
    one: Mapping[str, str | None],
    other: Mapping[str, str | None],
) -> list[float]:
    """Return how much more accurate the one is than the other, of the same windows."""
    gain = np.array(
        [
            w.is_right(one.get(w.key)) - float(w.is_right(other.get(w.key)))
            for w in windows
        ]
    )
    drawn = draws([w.group for w in windows], np.random.default_rng(5))
    return interval([gain[rows].mean() for rows in drawn])


def draws(groups: Sequence[str], random: np.random.Generator) -> list[np.ndarray]:
    """Return rows: all, then those of groups drawn with replacement, so many times."""
    names, of = np.unique(np.array(groups, str), return_inverse=True)
    rows = [np.flatnonzero(of == number) for number in range(len(names))]
    out = [np.arange(len(groups))]
    for _ in range(RESAMPLES):
        some = random.integers(len(names), size=len(names))
        out.append(np.concatenate([rows[number] for number in some]))
    return out


def interval(values: Sequence[float]) -> list[float]:
    """Return the first value, which is of the sample, and 95 % of the others."""
    low, high = np.nanquantile(values[1:], (0.025, 0.975))
    return [float(values[0]), float(low), float(high)]


def _macro_f1(
    truth: Sequence[str | None], said: Sequence[str | None], rows: np.ndarray
) -> float:
    """Return the mean F1 of the patterns that are there, as judging/kinds.py does."""
    there = Counter(truth[row] for row in rows)
    named = Counter(said[row] for row in rows)
    hits = Counter(truth[row] for row in rows if truth[row] == said[row])
    return float(np.mean([2 * hits[k] / (there[k] + named[k]) for k in there]))
