#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""build.py: builds the corpus by one command.

    python -m benchmarks.lab.corpus.build --out DIR --seed 1            # all of it
    python -m benchmarks.lab.corpus.build --out DIR --seed 1 --small    # a trial

Runs record.py, simulate.py, perturb.py, gold.py for the public pair, and compact.py one
after the other; each resumes where it was stopped. Shows their output, and at the end
the time of each. Stops with the exit code of the first that fails. Draws that were left
out are not a failure, but a source of which nothing is left is (5). A folder
belongs to one seed, and to all of it or a trial: made_with.json in it says which. Other
exit codes: 2 bad usage, 130 stopped by Ctrl-C; the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import DATA, TRACES
from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.command import STOPPED, seed

#: What record.py, simulate.py and perturb.py end with if some draws gave no runs.
LEFT_OUT = 4
NOTHING_MADE = 5
BAD_USAGE = 2
MADE_WITH = "made_with.json"
#: What parts are modules of.
LAB = "benchmarks.lab."
#: Given to a stopped part to end, before it is signaled again.
GRACE_S = 10


@dataclass(frozen=True)
class MadeWith:
    """What all that is in a folder was drawn with."""

    seed: int
    small: bool

    def __str__(self) -> str:
        return f"--seed {self.seed}{' --small' if self.small else ''}"


class OtherFolder(Exception):
    """The folder cannot be used; the message says why, and what to do."""


@dataclass(frozen=True)
class Scale:
    """How many draws of each source; R draws pairs, the others runs."""

    record: int
    simulate: int
    perturb: int


FULL = Scale(record=130, simulate=360, perturb=400)
SMALL = Scale(record=8, simulate=16, perturb=24)
#: A trial is of the programs, on a machine that may be busy with other things.
SMALL_RECORD = ("--any", "--seconds", "60")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the sources in turn, then the arrays."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", type=Path, required=True, metavar="DIR")
    options.add_argument("--seed", type=seed, default=1)
    options.add_argument("--small", action="store_true", help="a trial of every part")
    options.add_argument("--tokens", action="store_true", help="keep event tokens too")
    options.add_argument(
        "--traces", type=Path, help="real traces, for source P and the public pair"
    )
    given = options.parse_args(arguments)
    try:
        remember(given.out, MadeWith(given.seed, given.small))
    except OtherFolder as error:
        print(f"build.py: {error}", file=sys.stderr)
        return BAD_USAGE
    try:
        return _build(given)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return STOPPED


def remember(out: Path, wanted: MadeWith) -> None:
    """Write what a folder is made with, unless that is written there.

    Raises:
        OtherFolder: It is a file, or was made with something else.
    """
    path = out / MADE_WITH
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            part = path.with_suffix(".part")
            part.write_text(json.dumps(asdict(wanted)) + "\n", "utf-8")
            os.replace(part, path)
        found = MadeWith(**json.loads(path.read_text("utf-8")))
    except FileExistsError:
        raise OtherFolder(f"--out {out} is a file, not a folder") from None
    except OSError as error:
        raise OtherFolder(f"--out {out}: {error.strerror}") from None
    except (ValueError, TypeError):
        raise OtherFolder(f"{path} is damaged: name another --out") from None
    if found != wanted:
        raise OtherFolder(
            f"{out} was made with {found}: ask for that, or name another --out"
        )


def _build(given: argparse.Namespace) -> int:
    scale = SMALL if given.small else FULL
    perturbed = str(scale.perturb)
    common = ["--out", str(given.out), "--seed", str(given.seed)]
    real = ["--traces", str(given.traces)] if given.traces else []
    how = SMALL_RECORD if given.small else ()
    took: list[str] = []
    code = (
        run_part(took, "corpus.record", *common, "--count", str(scale.record), *how)
        or run_part(took, "corpus.simulate", *common, "--count", str(scale.simulate))
        or run_part(took, "corpus.perturb", *common, "--count", perturbed, *real)
        or _public_pair(took, given.out, given.traces)
        or _all_made(given.out)
        or run_part(
            took,
            "corpus.compact",
            str(given.out),
            *(["--tokens"] if given.tokens or given.small else []),
        )
    )
    print("\n".join(took))
    return code


def run_part(
    took: list[str], script: str, *arguments: str, good: tuple[int, ...] = (0, LEFT_OUT)
) -> int:
    """Run a module of the lab; return 0, or its exit code if that is not good.

    Args:
        took: Gets a line of how long it took.
        good: Exit codes that mean it did what it should.
    """
    begin = time.perf_counter()
    # Several processes share the processors: each takes one.
    child = subprocess.Popen(
        [sys.executable, "-m", f"{LAB}{script}", *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        code = child.wait()
    except KeyboardInterrupt:
        _end(child)
        raise
    took.append(f"{script}: {time.perf_counter() - begin:.0f} s")
    if code in good:
        return 0
    print(f"{script} {' '.join(arguments)} ended with {code}", file=sys.stderr)
    return code


def _end(child: subprocess.Popen[bytes]) -> None:
    """Wait for a part that Ctrl-C stopped too; a signal to this one alone goes on."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
            return
        child.send_signal(number)
    child.wait()


def _public_pair(took: list[str], out: Path, traces: Path | None) -> int:
    """Write the pair of runs that others recorded, from wherever it lies."""
    folders = (traces or TRACES, DATA)
    first = next((f for f in folders if list(f.glob("kineto2021-*workers4*"))), None)
    if first is None:
        print("no public pair at hand: the corpus has no runs of source G")
        return 0
    return run_part(took, "corpus.gold", "--public", str(first), "--out", str(out))


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
