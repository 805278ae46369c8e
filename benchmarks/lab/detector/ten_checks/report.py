# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/report.py: all ten checks, and their summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.lab.detector import gold_ledger
from benchmarks.lab.detector.compact_corpus import Corpus
from benchmarks.lab.detector.results_kept import gold_kept
from benchmarks.lab.detector.summary import Row
from benchmarks.lab.detector.ten_checks import injecting, nulls, shortcuts, transfer
from benchmarks.lab.detector.ten_checks.check import Check, Evidence, Verdict
from benchmarks.lab.pages import table

Rows = Mapping[tuple[str, str], Row]


def check_corpus(
    corpus: Corpus,
    rows: Rows,
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
        gold_check(corpus, rows, ledger),
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


def gold_check(corpus: Corpus, rows: Rows, ledger: Path = gold_ledger.LEDGER) -> Check:
    """9: gold was opened at most once a release, and every look is written down.

    Results of S7, in the table or kept beside the corpus, need a look at this corpus in
    the ledger; those in the table one with the code and the thresholds of now.
    """
    looks = gold_ledger.opened(ledger)
    most = gold_ledger.most_in_a_release(ledger)
    mine = [look for look in looks if look.get("corpus") == corpus.digest]
    shown = any(split == "S7" and row.figures for (split, _), row in rows.items())
    wrong = [f"one release opened it {most} times"] if most > 1 else []
    if (shown or gold_kept(corpus)) and not mine:
        wrong.append("there are results of S7, and no look at this corpus is recorded")
    elif shown:
        state = gold_ledger.state_of(corpus)
        changed = [
            {name for name in state if look.get(name) != state[name]} for look in mine
        ]
        if all(changed):
            least = ", ".join(sorted(min(changed, key=len)))
            wrong.append(f"results of S7 are shown that were made with other {least}")
    meaning = "; ".join(wrong) or f"{len(looks)} looks that count are written down"
    goal = "at most once a release, all written down"
    verdict: Verdict = "failed" if wrong else "passed"
    return Check(9, "gold opened", goal, float(most), verdict, meaning)
