#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trial.py: runs all commands for a corpus, on a small one.

    python -m benchmarks.lab.corpus.trial CORPUS

CORPUS is what build.py --small made. Records a pair by record_cuda.py on the CPU and
makes runs of it beside the corpus, in CORPUS-gold, as nothing else may hold them; then
gates, data sheet, training set and baselines (the detector is one of them) of CORPUS.
Figures of such a small corpus mean nothing: the trial fails only if a program does not
finish. Exit codes: 0, or that of the first that failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import TRACES
from benchmarks.lab.corpus.build import run_part

#: What gates.py ends with if a corpus is too far from real traces.
NOT_PASSED = 3
#: Small, and of the host alone.
PAIRS = "loop_over_samples.cnn"


def main() -> int:
    """Run everything in turn."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("corpus", type=Path)
    corpus: Path = options.parse_args().corpus
    took: list[str] = []
    gold = corpus.with_name(f"{corpus.name}-gold")
    recorded = gold / "recorded"
    device = ("--device", "cpu", "--pairs", PAIRS)

    def part(script: str, *arguments: object, good: tuple[int, ...] = (0,)) -> int:
        return run_part(took, script, *map(str, arguments), good=good)

    code = (
        part("corpus.record_cuda", "--out", recorded, *device)
        or part("corpus.gold", recorded, "--out", gold)
        or part("corpus.compact", gold)
        or _gates(took, corpus)
        or part("detector.datasheet", corpus)
        or part("detector.training_set", corpus)
        or part("detector.evaluate", corpus, "--quick", "--report-only")
    )
    print("\n".join(took))
    return code


def _gates(took: list[str], corpus: Path) -> int:
    """Run the gates, which so few runs need not pass."""
    if not (TRACES / "manifest.tsv").exists():
        print(f"{TRACES} has no traces: no gates")
        return 0
    return run_part(took, "corpus.gates", str(corpus), good=(0, NOT_PASSED))


if __name__ == "__main__":
    sys.exit(main())
