# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_page.py: results/benchmark.json, and from it results/benchmark.md and the
tables beside it, results/benchmark_tables.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarks import RESULTS
from benchmarks.lab.detector import benchmark_text as text
from benchmarks.lab.detector.benchmark_discussion import (
    betrayal_part,
    learning_part,
    rules_part,
)
from benchmarks.lab.detector.benchmark_findings import findings
from benchmarks.lab.detector.benchmark_parts import (
    compact_tables,
    corpus_part,
    item_table,
    margin_table,
    notes,
    pattern_table,
    seeds_text,
    split_table,
)
from benchmarks.lab.detector.benchmark_results import Rows, as_text, results_of, rows_of
from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Skipped
from benchmarks.lab.detector.judging.judged import RESAMPLES
from benchmarks.lab.detector.judging.sources import LEAST_OF_EACH
from benchmarks.lab.detector.splits import SPLITS
from benchmarks.lab.detector.table_text import detail_table, kind_table, skipped_text
from benchmarks.lab.detector.ten_checks.check import Check
from benchmarks.lab.detector.ten_checks.report import report_text

KEPT = RESULTS / "benchmark.json"
PAGE = RESULTS / "benchmark.md"
TABLES = KEPT.with_name("benchmark_tables.md")


def write_page(
    corpus: Corpus,
    rows: Rows,
    skipped: Sequence[Skipped],
    checks: Sequence[Check],
    quick: bool = False,
) -> None:
    """Write the results, and the pages from them."""
    results = results_of(corpus, rows, skipped, checks, quick)
    KEPT.write_text(as_text(results), "utf-8")
    kept = json.loads(KEPT.read_text("utf-8"))
    PAGE.write_text(render(kept), "utf-8")
    TABLES.write_text(render_tables(kept), "utf-8")


def render(results: dict[str, Any]) -> str:
    """Return the page."""
    rows = rows_of(results)
    made, facts = results["made"], results["corpus"]
    parts = [
        text.INTRODUCTION.format(
            date=made["date"],
            commit=made["commit"],
            dirty=" with changes" if made["dirty"] else "",
            digest=facts["digest"],
            fingerprint=facts["fingerprint"],
            quick="**A quick run: small models; not to be cited.**\n"
            if made["quick"]
            else "",
            least=LEAST_OF_EACH,
            resamples=RESAMPLES,
        ),
        findings(results),
        corpus_part(facts),
        text.SPLITS,
        seeds_text(rows),
        *(split_table(rows, head) for head in SIDES),
        item_table(rows),
        notes(rows),
        skipped_text(rows, [Skipped(**one) for one in results["skipped"]]),
        text.MORE,
        text.PATTERNS,
        pattern_table(results["patterns"]),
        rules_part(results),
        learning_part(results, rows),
        text.CHECKS,
        report_text([Check(**check) for check in results["checks"]])
        if results["checks"]
        else "They were not made.",
        betrayal_part(results, rows),
        text.ENTER,
    ]
    return _joined(parts)


def render_tables(results: dict[str, Any]) -> str:
    """Return the page of tables: who is ahead of whom, each split."""
    rows = rows_of(results)
    splits = [s for s in SPLITS if any(split == s for split, _ in rows)]
    detail = "S1" if "S1" in splits else next(iter(splits), "S0")
    kinds = kind_table(rows, detail)
    return _joined(
        [
            text.TABLES,
            margin_table(results["margins"]),
            text.DETAIL.format(split=f"{detail}, {SPLITS[detail]} held out"),
            detail_table(rows, detail).removesuffix(kinds).rstrip(),
            text.KINDS,
            kinds,
            text.OTHERS if len(splits) > 1 else "",
            compact_tables(rows, detail),
        ]
    )


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
