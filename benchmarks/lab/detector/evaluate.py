# SPDX-License-Identifier: BSD-3-Clause
"""evaluate.py: the table of baselines on a corpus, and its ten checks.

    python -m benchmarks.lab.detector.evaluate CORPUS          # all, prints the table
    python -m benchmarks.lab.detector.evaluate CORPUS --quick  # one seed, small models
    python -m benchmarks.lab.detector.evaluate CORPUS --page   # and its pages

It reads the compact form of the corpus only. Results are kept in the corpus' folder:
finished evaluations are not repeated. Exits with 1 if a check fails, see ten_checks.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.lab import pages
from benchmarks.lab.detector.asked import Asked
from benchmarks.lab.detector.baselines.table import BASELINES
from benchmarks.lab.detector.benchmark_results import results_of
from benchmarks.lab.detector.compact_corpus import CorpusError, read_corpus
from benchmarks.lab.detector.running import evaluate
from benchmarks.lab.detector.splits import SPLITS
from benchmarks.lab.detector.summary import summarize
from benchmarks.lab.detector.table_text import detail_table, main_table, skipped_text
from benchmarks.lab.detector.ten_checks.report import check_corpus, report_text


def main(arguments: list[str] | None = None) -> int:
    """Evaluate as the command line says; return what the program exits with."""
    options = _parse(arguments)
    began, machine = time.perf_counter(), pages.machine()
    asked = Asked(
        options.corpus,
        tuple(options.baselines),
        tuple(options.splits),
        options.seeds or (1 if options.quick else 5),
        options.quick,
        options.jobs,
        options.tabicl,
        options.open_gold,
    )
    try:
        corpus = read_corpus(options.corpus)
        if options.open_gold:
            from benchmarks.lab.detector.gold_ledger import open_gold

            open_gold(corpus)
        results, skipped = evaluate(asked)
    except CorpusError as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    rows = summarize(results)
    print(main_table(rows), end="\n\n")
    print(detail_table(rows, options.detail), end="\n\n")
    print(skipped_text(rows, skipped))
    failed = False
    checks = []
    if not options.no_checks:
        checks = check_corpus(corpus, rows, quick=options.quick)
        print(report_text(checks))
        failed = any(check.verdict == "failed" for check in checks)
    print(f"{(time.perf_counter() - began) / 60:.1f} minutes")
    if options.page:
        figures = results_of(corpus, rows, skipped, checks, options.quick, machine)
        pages.write("benchmark", figures)
        pages.write("benchmark_tables", figures)
    return int(failed and not options.report_only)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    parser.add_argument("--quick", action="store_true", help="one seed, small models")
    parser.add_argument(
        "--page", action="store_true", help="write results/benchmark.md"
    )
    parser.add_argument("--report-only", action="store_true", help="exit 0 anyway")
    parser.add_argument("--no-checks", action="store_true", help="the table only")
    parser.add_argument("--seeds", type=int, default=0, help="default: 5, quick: 1")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--tabicl", default="", help="a checkpoint of TabICL")
    parser.add_argument("--detail", default="S1", choices=SPLITS, help="default: S1")
    parser.add_argument(
        "--open-gold", action="store_true", help="S7 too: once a release"
    )
    names = [baseline.name for baseline in BASELINES]
    parser.add_argument("--baselines", nargs="+", default=[], choices=names)
    parser.add_argument("--splits", nargs="+", default=[], choices=SPLITS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
