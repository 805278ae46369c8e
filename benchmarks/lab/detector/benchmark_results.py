# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_results.py: the contents of results/benchmark.md as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from benchmarks.lab.detector.baselines.table import BARE, NETWORK, STACK, TOGETHER
from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.corpus_facts import facts_of, patterns_of
from benchmarks.lab.detector.folds import Skipped
from benchmarks.lab.detector.splits import SPLITS
from benchmarks.lab.detector.summary import Figure, Row, as_json, difference
from benchmarks.lab.detector.ten_checks.check import Check, Evidence

#: Whose differences are of interest, resample by resample.
PAIRS = (
    ("LightGBM", "rules, windows of 128"),
    (BARE, "rules, windows of 128"),
    ("LightGBM", "busy fraction"),
    ("rules + LightGBM", "rules, windows of 128"),
    ("rules + LightGBM", "LightGBM"),
    (TOGETHER, "LightGBM"),
    ("rules, windows of 128", "rules, windows of 512"),
    ("RealMLP", "LightGBM"),
    *((NETWORK, other) for other in ("rules, windows of 128", "LightGBM")),
    *((STACK, other) for other in ("rules, windows of 128", "busy fraction",
                                   "LightGBM", "rules + LightGBM", NETWORK)),
)  # fmt: skip
_LIBRARIES = ("catboost", "lightgbm", "pytabkit", "scikit-learn", "torch")
Rows = Mapping[tuple[str, str], Row]


def results_of(
    corpus: Corpus,
    rows: Rows,
    skipped: Sequence[Skipped],
    checks: Sequence[Check],
    quick: bool,
    machine: dict[str, Any],
) -> dict[str, Any]:
    """Return all that the page says, as plain data."""
    evidence = Evidence(corpus, rows, quick)
    results = {
        "machine": {
            **machine,
            "libraries": {name: version(name) for name in _LIBRARIES},
            "quick": quick,
        },
        "corpus": facts_of(corpus, evidence.labels),
        **as_json(dict(rows)),
        "margins": list(_margins(rows)),
        "patterns": patterns_of(evidence),
        "skipped": [asdict(one) for one in skipped],
        "checks": [asdict(check) for check in checks],
    }
    rounded: dict[str, Any] = _rounded(results)
    return rounded


def _rounded(value: Any) -> Any:
    """Return plain data with all numbers to four decimals."""
    if isinstance(value, dict):
        return {name: _rounded(of) for name, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(of) for of in value]
    return round(value, 4) if isinstance(value, float) else value


def rows_of(results: dict[str, Any]) -> dict[tuple[str, str], Row]:
    """Return the rows as they were, what is known by fold apart."""

    return {
        (one["split"], one["baseline"]): Row(
            {
                name: Figure(*values)
                for name, values in zip(results["figures"], one["figures"], strict=True)
                if values
            },
            {},
            {head: (where, area) for head, (where, area) in one["worst"].items()},
            one["by_item"],
            one["skipped"],
            one["seeds"],
            one["seconds"],
        )
        for one in results["rows"]
    }


def _margins(rows: Rows) -> Any:
    for split in SPLITS:
        for baseline, against in PAIRS:
            mine, other = rows.get((split, baseline)), rows.get((split, against))
            if mine is None or other is None:
                continue
            for head in SIDES:
                by = difference(mine, other, f"{head}_auroc").as_list()
                if by:
                    value, low, high = (*by, None, None)[:3]
                    yield {
                        "split": split, "head": head, "baseline": baseline,
                        "against": against, "value": value, "low": low, "high": high,
                    }  # fmt: skip
