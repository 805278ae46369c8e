#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/build.py: the corpus by one command, all sources but G.

    python benchmarks/corpus/build.py --out DIR --seed 1            # all of it
    python benchmarks/corpus/build.py --out DIR --seed 1 --small    # 5 minutes

Runs record.py, simulate.py, perturb.py and compact.py one after the other, each of
which goes on where it was stopped. What they say is shown, and at the end what each
took.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRACES = HERE.parents[2] / "shared" / "traces"


@dataclass(frozen=True)
class Scale:
    """How many draws of each source; R draws pairs, the others runs."""

    record: int
    simulate: int
    perturb: int


FULL = Scale(record=100, simulate=270, perturb=150)
SMALL = Scale(record=6, simulate=16, perturb=6)


def main() -> int:
    """Make the sources in turn, then the arrays."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", type=Path, required=True, metavar="DIR")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--small", action="store_true", help="a trial of every part")
    options.add_argument("--tokens", action="store_true", help="keep event tokens too")
    options.add_argument(
        "--traces", type=Path, default=TRACES, help="real traces, for source P"
    )
    given = options.parse_args()
    scale = SMALL if given.small else FULL
    common = ["--out", str(given.out), "--seed", str(given.seed)]
    commands = [
        ["record.py", *common, "--count", str(scale.record)],
        ["simulate.py", *common, "--count", str(scale.simulate)],
        [
            *("perturb.py", *common, "--count", str(scale.perturb)),
            *("--traces", str(given.traces)),
        ],
        ["compact.py", str(given.out), *(["--tokens"] if given.tokens else [])],
    ]
    took = []
    for command in commands:
        begin = time.perf_counter()
        # Several processes share the processors: each takes one.
        code = subprocess.run(
            [sys.executable, str(HERE / command[0]), *command[1:]],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        ).returncode
        took.append(f"{command[0]}: {time.perf_counter() - begin:.0f} s")
        if code not in (0, 1):  # 1: some draws were left out, and told.
            print(f"build.py: {' '.join(command)} ended with {code}", file=sys.stderr)
            return code
    print("\n".join(took))
    return 0


if __name__ == "__main__":
    sys.exit(main())
