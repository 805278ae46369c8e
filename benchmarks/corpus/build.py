#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/build.py: the corpus by one command.

    python benchmarks/corpus/build.py --out DIR --seed 1            # all of it
    python benchmarks/corpus/build.py --out DIR --seed 1 --small    # a trial

Runs record.py, simulate.py, perturb.py, gold.py for the public pair, and compact.py one
after the other, each of which goes on where it was stopped. What they say is shown, and
at the end what each took. Stops with the exit code of the first that fails; draws that
were left out are no failure, but a source of which nothing is left is (5).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import runs
from origins import SMALL_TRACES, TRACES

HERE = Path(__file__).resolve().parent
#: What record.py, simulate.py and perturb.py end with if some draws gave no runs.
LEFT_OUT = 4
NOTHING_MADE = 5


@dataclass(frozen=True)
class Scale:
    """How many draws of each source; R draws pairs, the others runs."""

    record: int
    simulate: int
    perturb: int


FULL = Scale(record=130, simulate=360, perturb=370)
SMALL = Scale(record=8, simulate=16, perturb=24)


def main() -> int:
    """Make the sources in turn, then the arrays."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", type=Path, required=True, metavar="DIR")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--small", action="store_true", help="a trial of every part")
    options.add_argument("--tokens", action="store_true", help="keep event tokens too")
    options.add_argument(
        "--traces", type=Path, help="real traces, for source P and the public pair"
    )
    given = options.parse_args()
    scale = SMALL if given.small else FULL
    common = ["--out", str(given.out), "--seed", str(given.seed)]
    real = ["--traces", str(given.traces)] if given.traces else []
    took: list[str] = []
    code = (
        run_part(took, "record.py", *common, "--count", str(scale.record))
        or run_part(took, "simulate.py", *common, "--count", str(scale.simulate))
        or run_part(took, "perturb.py", *common, "--count", str(scale.perturb), *real)
        or _public_pair(took, given.out, given.traces)
        or _all_made(given.out)
        or run_part(
            took,
            "compact.py",
            str(given.out),
            *(["--tokens"] if given.tokens or given.small else []),
        )
    )
    print("\n".join(took))
    return code


def run_part(
    took: list[str], script: str, *arguments: str, good: tuple[int, ...] = (0, LEFT_OUT)
) -> int:
    """Run a script beside this one; return 0, or its exit code if that is not good.

    Args:
        took: Gets a line of how long it took.
        good: Exit codes that mean it did what it should.
    """
    begin = time.perf_counter()
    # Several processes share the processors: each takes one.
    code = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ).returncode
    took.append(f"{Path(script).name}: {time.perf_counter() - begin:.0f} s")
    if code in good:
        return 0
    print(f"{script} {' '.join(arguments)} ended with {code}", file=sys.stderr)
    return code


def _public_pair(took: list[str], out: Path, traces: Path | None) -> int:
    """Write the pair of runs that others recorded, from wherever it lies."""
    folders = (traces or TRACES, SMALL_TRACES)
    first = next((f for f in folders if list(f.glob("kineto2021-*workers4*"))), None)
    if first is None:
        print("no public pair at hand: the corpus has no runs of source G")
        return 0
    return run_part(took, "gold.py", "--public", str(first), "--out", str(out))


def _all_made(out: Path) -> int:
    """Return 0 if there are runs of every source that can be made anywhere."""
    made = Counter(run.source for run in runs.read(out))
    missing = [source for source in "RSP" if not made[source]]
    if missing:
        print(f"build.py: no run of {', '.join(missing)} was made", file=sys.stderr)
        return NOTHING_MADE
    print(", ".join(f"{made[source]} runs of {source}" for source in sorted(made)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
