# SPDX-License-Identifier: BSD-3-Clause
"""simulate.py: source S of the corpus: CUDA timelines, scheduled from dry runs.

    python -m benchmarks.lab.corpus.simulate --out DIR --seed 1 --count 400

Starting it again with the same arguments makes the missing runs. Programs that a dry
run refuses are left out and listed. Exit codes: 0 as many as asked, 2 bad usage,
4 fewer, as too few programs are left.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.command import ended, folder, seed
from benchmarks.lab.corpus.simulation.making_runs import Maker
from benchmarks.lab.corpus.simulation.plans import plans_of
from benchmarks.lab.corpus.simulation.programs import Programs, RefusedError

PROCESSES = 2
LEFT_OUT = 4


def _make(
    job: tuple[Path, int, int, int, int, frozenset[str]],
) -> tuple[int, list[str]]:
    """Make every so-manieth of the drawings until there are enough runs."""
    out, seed, count, first, every, names = job
    programs = Programs(out / "programs", names)
    maker = Maker(programs, out)
    made, notes = 0, []
    refused: dict[str, str] = {}
    begin = time.perf_counter()
    number = first
    while made < count and len(refused) < len(programs.cases):
        plans = plans_of(programs, seed, number)
        number += every
        if all(runs.exists(out, plan.name) for plan in plans):
            made += len(plans)
            continue
        try:
            for run in maker.make(plans):
                made += 1
                worst = max(run.causes, key=lambda cause: cause.saved)
                print(
                    f"[{first}] {made}/{count} {time.perf_counter() - begin:5.0f} s "
                    f"{run.name} {run.group} {run.gpu}: {worst.pattern} "
                    f"{worst.saved:.0%}",
                    flush=True,
                )
        except RefusedError as error:
            # Drawn all the same: who starts again must draw the same runs.
            refused[plans[0].case.name] = str(error)
    notes += [f"left out {name}: {why}" for name, why in sorted(refused.items())]
    return made, notes


def main() -> int:
    """Parse the command line and make the runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=folder, required=True)
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--count", type=int, default=400, help="runs, about")
    parser.add_argument("--only", default="", help="pairs, or PAIR.FAMILY, by comma")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    given = parser.parse_args()
    if given.count < 1 or given.processes < 1:
        parser.error("--count and --processes are at least 1")
    names = frozenset(name for name in given.only.split(",") if name)
    if not Programs(given.out / "programs", names).cases:
        parser.error(f"--only names no pair: {given.only}")
    every = given.processes
    jobs = [
        (given.out, given.seed, -(-given.count // every), k, every, names)
        for k in range(every)
    ]
    # Processes that may have children: dry runs of loaders with workers do.
    spawn = multiprocessing.get_context("spawn")
    # Ctrl-C reaches all of them: this one ends the others.
    deaf = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(every, spawn, signal.signal, deaf) as pool:
        try:
            found = list(pool.map(_make, jobs))
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    for note in sorted({note for _, notes in found for note in notes}):
        print(note)
    made = sum(made for made, _ in found)
    print(f"{made} runs in {given.out}")
    return 0 if made >= given.count else LEFT_OUT


if __name__ == "__main__":
    sys.exit(ended(main))
