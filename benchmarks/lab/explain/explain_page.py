# SPDX-License-Identifier: BSD-3-Clause
"""explain_page.py: the figures of results/explain_accuracy.md, from answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.lab.explain.answering import FACTS, NAMES
from benchmarks.lab.explain.asked_windows import CORPUS, NONE, TRACES, Asked, read

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
    """Return rows: all, then those of groups drawn with replacement, repeatedly."""
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


Answers = Mapping[str, Any]
#: What of the corpus is told apart: where all costs are known, and where only those of
#: what was put in are.
_PARTS = {"recorded and simulated": ("R", "S"), "real, perturbed": ("P",)}
_HEAD = ("who", "windows of", "with a pattern", "groups", "accuracy", "macro-F1",
         "no answer", f"says {NONE}", f"without: says {NONE}")  # fmt: skip


def context(results: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says besides the answers."""
    answers = results["answers"]
    sets = {"corpus": read(CORPUS), "public": read(TRACES)}
    sets = {name: windows for name, windows in sets.items() if name in answers}
    models = results.get("models", {})
    return {
        "head": _HEAD,
        "stability": list(STABILITY),
        "sets": {name: _of_set(name, of, answers[name]) for name, of in sets.items()},
        "repeats": {model: _of_model(model, sets, answers) for model in models},
        "who": list(answers["corpus"]),
        "by_pattern": _by_pattern(sets["corpus"], answers["corpus"]),
    }


def _of_set(name: str, windows: Sequence[Asked], answers: Answers) -> dict[str, Any]:
    parts = {"all": windows}
    if name == "corpus":
        for part, sources in _PARTS.items():
            parts[part] = [w for w in windows if w.source in sources]
    rows, alike = [], []
    for who, of in answers.items():
        said = _first(of[FACTS])
        for part, some in parts.items():
            mine = [w for w in some if w.key in said]
            if any(w.truth != NONE for w in mine):
                rows.append([who, part, *_cells(figures(mine, said))])
        mine = [w for w in windows if w.key in said]
        repeated = len(next(iter(of[FACTS].values()), [])) > 1
        if repeated and len(mine) < len(windows):
            others = [
                [other, *_cells(figures(mine, _first(its[FACTS])))]
                for other, its in answers.items()
            ]
            alike.append((who, len(mine), [[*r[:2], *r[3:5]] for r in others]))
    return {"rows": rows, "alike": alike, **_counts(windows)}


def _of_model(
    model: str, sets: Mapping[str, Sequence[Asked]], answers: Answers
) -> dict[str, Any]:
    stable = []
    forms: dict[str, dict[str, str | None]] = {FACTS: {}, NAMES: {}}
    for name, windows in sets.items():
        of = answers[name][model]
        mine = [w for w in windows if w.key in of[FACTS]]
        found = stability(mine, of[FACTS])
        stable.append([name, str(len(mine)), *(f"{found[s]}" for s in STABILITY)])
        for form, said in forms.items():
            said |= _first(of.get(form, {}))
    every = [w for windows in sets.values() for w in windows]
    both = [w for w in every if w.key in forms[NAMES] and w.key in forms[FACTS]]
    shown = []
    for form, said in forms.items() if both else ():
        right = sum(w.is_right(said[w.key]) for w in both)
        shown.append([form, str(len(both)), f"{right / len(both):.3f}", ""])
    if both:
        shown[-1][-1] = _interval(difference(both, forms[NAMES], forms[FACTS]))
    named = Counter(map(str, forms[FACTS].values()))
    return {"stable": stable, "shown": shown, "named": dict(named.most_common())}


def _by_pattern(windows: Sequence[Asked], answers: Answers) -> list[list[str]]:
    rows = []
    for truth in dict.fromkeys(w.truth for w in windows):
        row = [f"`{truth}`"]
        for of in answers.values():
            said = _first(of[FACTS])
            mine = [w for w in windows if w.truth == truth and w.key in said]
            right = sum(w.is_right(said[w.key]) for w in mine)
            row.append(f"{right} of {len(mine)}")
        rows.append(row)
    return rows


def _counts(windows: Sequence[Asked]) -> dict[str, int]:
    return {
        "windows": len(windows),
        "traces": len({w.trace for w in windows}),
        "groups": len({w.group for w in windows}),
        "none": sum(w.truth == NONE for w in windows),
        "patterns": len({w.truth for w in windows} - {NONE}),
        "chance": round(100 / max(1, len({w.truth for w in windows} - {NONE}))),
    }


def _first(answers: Mapping[str, Sequence[str | None]]) -> dict[str, str | None]:
    return {key: said[0] for key, said in answers.items()}


def _cells(found: Mapping[str, Any]) -> list[str]:
    none = "-"
    if "none_right" in found:
        none = f"{_interval(found['none_right'])} of {found['none_windows']}"
    return [
        str(found["windows"]), str(found["groups"]), _interval(found["accuracy"]),
        _interval(found["macro_f1"]), f"{found['no_answer']:.0%}",
        f"{found['none_of_pattern']:.0%}", none,
    ]  # fmt: skip


def _interval(values: Sequence[float]) -> str:
    value, low, high = values
    return f"{value:.3f} ({low:.2f} to {high:.2f})"
