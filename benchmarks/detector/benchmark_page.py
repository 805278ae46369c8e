# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_page.py: benchmarks/results/benchmark.json, docs/benchmark.md from it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import benchmark_text as text
from benchmark_findings import findings
from benchmark_parts import (
    corpus_part,
    item_table,
    margin_table,
    notes,
    pattern_table,
    split_table,
)
from compact_corpus import SIDES, Corpus
from corpus_facts import facts_of, patterns_of
from folds import Skipped
from judging.figures import RESAMPLES
from splits import SPLITS
from summary import Figure, Row, as_json, difference
from table_text import detail_table, kind_table, skipped_text
from ten_checks.check import Check, Evidence
from ten_checks.report import report_text

_ROOT = Path(__file__).resolve().parents[2]
RESULTS = _ROOT / "benchmarks" / "results" / "benchmark.json"
PAGE = _ROOT / "docs" / "benchmark.md"
#: Whose differences are of interest, resample by resample.
PAIRS = (
    ("LightGBM", "rules, windows of 128"),
    ("LightGBM", "idle fraction"),
    ("rules + LightGBM", "rules, windows of 128"),
    ("rules + LightGBM", "LightGBM"),
    ("rules, windows of 128", "rules, windows of 512"),
    ("RealMLP", "LightGBM"),
)
_LIBRARIES = ("catboost", "lightgbm", "pytabkit", "scikit-learn", "torch")
Rows = Mapping[tuple[str, str], Row]


def write_page(
    corpus: Corpus,
    rows: Rows,
    skipped: Sequence[Skipped],
    checks: Sequence[Check],
    quick: bool = False,
) -> None:
    """Write the results, and the page from them."""
    results = results_of(corpus, rows, skipped, checks, quick)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    PAGE.write_text(render(json.loads(RESULTS.read_text("utf-8"))), "utf-8")


def results_of(
    corpus: Corpus,
    rows: Rows,
    skipped: Sequence[Skipped],
    checks: Sequence[Check],
    quick: bool,
) -> dict[str, Any]:
    """Return all that the page says, as plain data."""
    evidence = Evidence(corpus, rows, quick)
    return {
        "made": {
            "date": datetime.now(timezone.utc).date().isoformat(),
            "commit": _git("rev-parse", "--short=10", "HEAD"),
            "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
            "cores": len(os.sched_getaffinity(0)),
            "libraries": {name: version(name) for name in _LIBRARIES},
            "quick": quick,
        },
        "corpus": facts_of(corpus, evidence.labels),
        "rows": as_json(dict(rows)),
        "margins": list(_margins(rows)),
        "patterns": patterns_of(evidence),
        "skipped": [asdict(one) for one in skipped],
        "checks": [asdict(check) for check in checks],
    }


def render(results: dict[str, Any]) -> str:
    """Return the page."""
    rows = rows_of(results)
    made, facts = results["made"], results["corpus"]
    splits = [s for s in SPLITS if any(split == s for split, _ in rows)]
    detail = "S1" if "S1" in splits else next(iter(splits), "S0")
    seeds = max((row.seeds for row in rows.values()), default=0)
    parts = [
        text.INTRODUCTION.format(
            date=made["date"],
            commit=made["commit"],
            dirty=" with changes" if made["dirty"] else "",
            digest=facts["digest"],
            fingerprint=facts["fingerprint"],
            seeds=f"{seeds} seed{'s' if seeds > 1 else ''} of what is random",
            quick="**A quick run: small models; not to be cited.**\n"
            if made["quick"]
            else "",
            resamples=RESAMPLES,
        ),
        findings(results),
        corpus_part(facts),
        text.SPLITS,
        *(split_table(rows, head) for head in SIDES),
        item_table(rows),
        notes(rows),
        skipped_text(rows, [Skipped(**one) for one in results["skipped"]]),
        margin_table(results["margins"]),
        text.DETAIL.format(split=f"{detail}, {SPLITS[detail]} held out"),
        detail_table(rows, detail).removesuffix(kind_table(rows, detail)).rstrip(),
        text.KINDS,
        kind_table(rows, detail),
        text.PATTERNS,
        pattern_table(results["patterns"]),
        *(part for part in (text.RULES_TEXT, text.LEARNING_TEXT) if part),
        text.CHECKS,
        report_text([Check(**check) for check in results["checks"]])
        if results["checks"]
        else "They were not made.",
        text.BETRAYAL_TEXT,
        text.ENTER,
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def rows_of(results: dict[str, Any]) -> dict[tuple[str, str], Row]:
    """Return the rows as they were, resamples apart."""

    def figure(values: Sequence[float | None]) -> Figure:
        return Figure(*(float("nan") if v is None else v for v in values))

    return {
        (one["split"], one["baseline"]): Row(
            {name: figure(values) for name, values in one["figures"].items()},
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
                if by[0] is not None:
                    yield {
                        "split": split, "head": head, "baseline": baseline,
                        "against": against, "value": by[0], "low": by[1],
                        "high": by[2],
                    }  # fmt: skip


def _git(*args: str) -> str:
    command = ["git", "-C", str(_ROOT), *args]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
