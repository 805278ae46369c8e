# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/report.py: all ten, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import gold_ledger
from compact_corpus import Corpus
from summary import Row
from table_text import table

from ten_checks import injecting, nulls, shortcuts, transfer
from ten_checks.check import Check, Evidence


def check_corpus(
    corpus: Corpus,
    rows: Mapping[tuple[str, str], Row],
    quick: bool = False,
    ledger: Path = gold_ledger.LEDGER,
) -> list[Check]:
    """Make the ten checks of a corpus, in their order.

    Takes about as long as training a dozen models of LightGBM.

    Args:
        corpus: To check.
        rows: The table of baselines, for those checks that read it.
        quick: Smaller models, fewer repetitions.
        ledger: Who opened the gold.
    """
    evidence = Evidence(corpus, rows, quick)
    return [
        injecting.flags_alike(evidence),
        nulls.null_injections(evidence),
        shortcuts.single_features(evidence),
        shortcuts.blindness(evidence),
        transfer.domain_probe(evidence),
        transfer.shift(evidence),
        transfer.strength(evidence),
        injecting.swapped_labels(evidence),
        gold_check(ledger),
        injecting.injection_yield(evidence),
    ]


def report_text(checks: Sequence[Check]) -> str:
    """Return the report, as text that is Markdown too."""
    lines = [
        [
            str(check.number),
            check.name,
            check.goal,
            "-" if check.figure is None else f"{check.figure:.3f}",
            check.verdict.upper() if check.verdict == "failed" else check.verdict,
            check.meaning,
        ]
        for check in checks
    ]
    failed = sum(check.verdict == "failed" for check in checks)
    last = f"{failed} of {len(checks)} checks FAILED" if failed else "no check failed"
    head = ("", "check", "goal", "figure", "verdict", "what it says")
    return f"{table(head, lines)}\n\n{last}\n"


def gold_check(ledger: Path) -> Check:
    """9: gold was opened at most once in each release."""
    most = gold_ledger.most_in_a_release(ledger)
    meaning = f"{len(gold_ledger.entries(ledger))} looks are written down"
    goal = "at most once a release"
    verdict = "passed" if most <= 1 else "failed"
    return Check(9, "gold opened", goal, float(most), verdict, meaning)  # type: ignore[arg-type]
