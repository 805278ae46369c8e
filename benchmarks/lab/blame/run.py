# SPDX-License-Identifier: BSD-3-Clause
"""run.py: simulates faulty programs and scores torchtraceap's reports on them.

    python -m benchmarks.lab.blame.run --count 150 --seed 1 [--patterns sync_stall,...]
    python -m benchmarks.lab.blame.run --seed 1 --page   # writes results and page

PYTHONPATH selects the scored torchtraceap, so that versions can be compared on the same
traces.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.lab import pages
from benchmarks.lab.blame.cases import CLEAN, FAULTS, pattern_of, sample
from benchmarks.lab.blame.chrome_trace import trace_text
from benchmarks.lab.blame.families import FAMILIES
from benchmarks.lab.blame.gpus import GPUS
from benchmarks.lab.blame.scoring import (
    LEAST_ANYWAY,
    LEAST_GAIN,
    LEAST_SAVED,
    score,
    summary,
    told_of,
)
from benchmarks.lab.blame.truth import truth_of

PATTERNS = [*dict.fromkeys(pattern_of(fault) for fault in FAULTS), CLEAN]


def scored(seed: int, patterns: list[str], folder: str | None) -> dict[str, Any]:
    """Make a trace, analyze and score it."""
    it = sample(seed, patterns)
    truth = truth_of(it)
    text = trace_text(truth.program, truth.ran, it.recording)
    if folder:
        Path(folder, f"{seed}.json").write_bytes(text)
    return score(it, truth, told_of(text))


def main() -> int:
    """Run, print and write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--count", type=int, default=150)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--patterns", default=",".join(PATTERNS))
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--keep", metavar="FOLDER", help="keep the traces there")
    options.add_argument("--json", metavar="FILE", help="write all scores there")
    options.add_argument("--page", action="store_true", help="write results and docs")
    given = options.parse_args()
    patterns = given.patterns.split(",")
    if unknown := [p for p in patterns if p not in PATTERNS]:
        options.error(
            f"no such pattern: {', '.join(unknown)}; of {', '.join(PATTERNS)}"
        )
    if given.keep:
        Path(given.keep).mkdir(parents=True, exist_ok=True)
    begin, machine = time.perf_counter(), made(given.seed)
    seeds = range(given.seed * 100_000, given.seed * 100_000 + given.count)
    work = partial(scored, patterns=patterns, folder=given.keep)
    with ProcessPoolExecutor(given.jobs) as pool:
        rows = list(pool.map(work, seeds, chunksize=4))
    sums = summary(rows)
    print(f"{time.perf_counter() - begin:.1f} s for {len(rows)} traces")
    results = {"machine": machine, "summary": sums, "traces": rows}
    print(pages.render(pages.page("blame"), results))
    if given.json:
        Path(given.json).write_text(json.dumps(results, indent=1))
    if given.page:
        for row in rows:
            del row["windows"]
        pages.write("blame", results)
    return 0


def made(seed: int) -> dict[str, Any]:
    """Return how, where and when the traces are made."""
    return pages.machine() | {
        "seed": seed,
        "families": len(FAMILIES),
        "machines": len(GPUS),
        "least_gain": 100 * LEAST_GAIN,
        "least_saved": 100 * LEAST_SAVED,
        "least_anyway": 100 * LEAST_ANYWAY,
    }


if __name__ == "__main__":
    sys.exit(main())
