#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trial.py: runs all commands for a corpus, on a small one.

    python -m benchmarks.lab.corpus.trial CORPUS

CORPUS is what build.py --small made. Records a pair by record_cuda.py on the CPU and
makes runs of it beside the corpus, in CORPUS-gold, as nothing else may hold them; then
data sheet, training set and an evaluation of CORPUS.
Figures of such a small corpus mean nothing: the trial fails only if a program does not
finish. Exit codes: 0, or that of the first that failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.lab.corpus.build import run_part

#: Small, and of the host alone.
PAIRS = "loop_over_samples.cnn"
#: Other draws, and the other generator.
SPLITS = ("S0", "S6")


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
        or part("detector.datasheet", corpus)
        or part("detector.training_set", corpus)
        or part("detector.evaluate", corpus, "--quick", "--splits", *SPLITS)
    )
    print("\n".join(took))
    return code


if __name__ == "__main__":
    sys.exit(main())
