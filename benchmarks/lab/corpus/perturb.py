# SPDX-License-Identifier: BSD-3-Clause
"""perturb.py: source P of the corpus, real traces with a pattern put
in.

    python -m benchmarks.lab.corpus.perturb --out DIR --count 200 --seed 1

Started again with the same --out and --seed, it goes on with what is missing. Traces
whose replay is unreliable are refused, with the reason. Runs of origins that
are held out are made as well, and marked: tests are made of them. Without the public
traces those few are taken that the tree holds. Exit codes: 0 all written, 2 bad usage,
4 the traces gave fewer runs than asked.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from benchmarks import DATA, TRACES
from benchmarks.lab.corpus.command import ended, folder, seed
from benchmarks.lab.corpus.origins import (
    gpu_name,
    held_out,
    read_manifest,
)
from benchmarks.lab.corpus.perturbation.making import (
    POSITIVE,
    Made,
    make,
    remember,
    remembered,
)
from benchmarks.lab.corpus.runs import exists

LEFT_OUT = 4
_MOST_TURNS = 40
_BANDS = ((0.02, 0.05), (0.05, 0.10), (0.10, 0.20), (0.20, 0.50), (0.50, 1.01))


def main() -> int:
    arguments = _arguments()
    begin = time.monotonic()
    if arguments.traces is None:
        arguments.traces = TRACES
        if not (TRACES / "manifest.tsv").exists():
            arguments.traces = DATA
            print(f"{TRACES} has no traces: the small ones of {DATA} instead")
    try:
        manifest = read_manifest(arguments.traces)
    except FileNotFoundError:
        print(f"{arguments.traces} has no manifest.tsv", file=sys.stderr)
        return 2
    # In a drawn order: few runs are not to be all of the first traces by name.
    files = sorted(manifest)
    random.Random(arguments.seed).shuffle(files)
    finished: dict[str, Made] = {}
    written = apart = 0
    for turn in range(_MOST_TURNS):
        for file in files:
            if written >= arguments.count:
                break
            if finished.get(f"{file}-0", Made()).refused:
                continue
            made = _part(arguments, manifest[file], turn)
            finished[f"{file}-{turn}"] = made
            written += len(made.names)
            apart += len(made.names) if held_out(manifest[file]["origin"]) else 0
            print(
                f"{time.monotonic() - begin:6.1f} s {written:4} runs, {file}: "
                + (
                    f"refused, {made.refused}" if made.refused else str(len(made.names))
                ),
                flush=True,
            )
        if written >= arguments.count:
            break
    print(f"{written} runs, {apart} of them of origins that are held out for tests")
    print(_yield_text(list(finished.values())))
    return 0 if written >= arguments.count else LEFT_OUT


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=folder, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--traces", type=Path, help="folder, with a manifest.tsv")
    return parser.parse_args()


def _part(arguments: argparse.Namespace, row: dict[str, str], turn: int) -> Made:
    key = f"{row['file'].split('.json')[0]}-{turn}"
    made = remembered(arguments.out, key)
    if made is None or not all(exists(arguments.out, name) for name in made.names):
        path = arguments.traces / row["file"]
        gpu = gpu_name(row["gpu"])
        made = make(arguments.out, path, row["origin"], gpu, arguments.seed, turn)
        remember(arguments.out, key, made)
    return made


def _yield_text(all_made: list[Made]) -> str:
    """Return what the insertions cost, as text."""
    insertions = [one for made in all_made for one in made.insertions]
    meant = [one for one in insertions if not one["null"]]
    cost = [one for one in meant if one["largest"] >= POSITIVE]
    shares = [share for one in insertions for share in one["shares"]]
    windows = sum(one["windows"] for one in insertions)
    lost = sum(share >= POSITIVE for share in shares) / max(1, windows)
    lines = [
        f"{len(meant)} insertions and {len(insertions) - len(meant)} nulls; of the "
        f"insertions {len(cost) / max(1, len(meant)):.0%} cost a window 5 % or more",
        f"{windows} windows, {lost:.1%} of them lose 5 % and more to what was put in",
    ]
    for low, high in _BANDS:
        count = sum(low <= share < high for share in shares)
        lines.append(f"  {low:.0%} to {min(1, high):.0%}: {count} windows")
    by: dict[str, list[bool]] = {}
    for one in meant:
        name = f"{one['pattern']} {one['mechanism']}"
        by.setdefault(name, []).append(one["largest"] >= POSITIVE)
    lines += [f"  {n}: {sum(by[n])} of {len(by[n])}" for n in sorted(by)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(ended(main))
