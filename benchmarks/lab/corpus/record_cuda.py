# SPDX-License-Identifier: BSD-3-Clause
"""record_cuda.py: records slow/fixed pairs on a real GPU.

    python -m benchmarks.lab.corpus.record_cuda --out DIR

A second start with the same ``--out`` goes on with what is missing. README.md says
what comes out, session.py in which order the work is done, pairs.py what the pairs
are and why they stand in their order.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.lab.corpus.manifest import OtherRun
from benchmarks.lab.corpus.measure import PROTOCOLS
from benchmarks.lab.corpus.session import Session
from benchmarks.lab.corpus.workloads.pairs import PAIRS, Case, cases

DONE, FAILED, USAGE, UNFINISHED = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Returns 0 if all is recorded or skipped for a reason that the manifest gives, 1 if
    a case failed, 2 for bad usage, 3 if time ran out and a second start would go on.
    """
    begun = time.monotonic()
    options = parse(arguments)
    try:
        chosen = choose(options.pairs)
        if options.list:
            for case in chosen:
                print(f"{case.name:38} {case.pair.pattern:18} {case.pair.why}")
            return DONE
        if options.device == "cuda" and not torch.cuda.is_available():
            raise ValueError("torch sees no GPU; --device cpu tries the program out")
        counts = Session(options, begun).work(chosen)
    except (OtherRun, ValueError) as error:
        print(f"record_cuda.py: {error}", file=sys.stderr)
        return USAGE
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    if counts["failed"]:
        return FAILED
    return UNFINISHED if counts["left"] else DONE


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; exits with 2 and a message if it is not understood."""
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n\n")[0].partition(": ")[2],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, help="folder for the results, which are also the state")
    add("--device", choices=sorted(PROTOCOLS), default="cuda", help="where to train")
    add("--pairs", metavar="NAMES", help="only these, as PAIR or PAIR.FAMILY,...")
    add("--minutes", type=float, default=8, help="time to end within")
    add("--max-mb", type=float, default=60, help="size of all results together")
    add("--seed", type=int, default=0, help="of parameters and batches")
    add("--list", action="store_true", help="show the cases in order, and stop")
    options = parser.parse_args(arguments)
    if not options.list and options.out is None:
        parser.error("--out is needed")
    return options


def choose(names: str | None) -> list[Case]:
    """Pick cases by the name of a pair or of a case; keeps the table's order.

    Raises:
        ValueError: A name is neither.
    """
    every = list(cases(PAIRS))
    if names is None:
        return every
    wanted = set(names.split(","))
    if unknown := wanted - {n for case in every for n in (case.name, case.pair.name)}:
        raise ValueError(f"no such pair: {', '.join(sorted(unknown))} (see --list)")
    return [case for case in every if wanted & {case.name, case.pair.name}]


if __name__ == "__main__":
    sys.exit(main())
