# SPDX-License-Identifier: BSD-3-Clause
"""scaling.py: cost against size, for ordinary traces and for hostile ones.

    python -m benchmarks.loader.scaling [--scale 1.0] [--only KIND]

Each kind is one property of a trace driven far, at a size N and at 4 N; the figure is
t(4N) / t(N) in CPU time, best of the rounds, of loading and of analyzing. 4 is linear;
data that no longer fit a cache at 4 N cost more. Needs torchtraceap on the Python path.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.loader.hostile import KINDS, write_kind
from torchtraceap import _core

PARTS = ("load", "analysis")
LEAST_S = 3e-3


def pair(small: Path, large: Path, rounds: int) -> dict[str, Any]:
    """Time both parts on both files in turn; return the best of each, in seconds."""
    best = {part: [float("inf")] * 2 for part in PARTS}
    for _ in range(rounds):
        for at, path in enumerate((small, large)):
            for part, spent in zip(PARTS, once(path), strict=True):
                best[part][at] = min(best[part][at], spent)
    out: dict[str, Any] = {"bytes": [p.stat().st_size for p in (small, large)]}
    for part, (of_small, of_large) in best.items():
        out[f"{part}_s"] = [of_small, of_large]
        # Of less than that the clock and the caches say more than the size.
        out[part] = of_large / of_small if of_small >= LEAST_S else None
    return out


def once(path: Path) -> list[float]:
    """Load and analyze in a fork: what one call gave back makes no later one faster."""
    source, sink = os.pipe()
    if os.fork() == 0:
        try:
            begin = time.process_time()
            trace = _core.load_file(str(path))
            loaded = time.process_time()
            _core.analyze(trace)
            done = time.process_time()
            os.write(sink, json.dumps([loaded - begin, done - loaded]).encode())
        finally:
            os._exit(0)
    os.close(sink)
    with open(source) as answer:
        text = answer.read()
    os.wait()
    if not text:
        raise RuntimeError(f"{path} could not be loaded and analyzed")
    return json.loads(text)


def hostile(scale: float, rounds: int, only: str = "") -> list[dict[str, Any]]:
    """Measure every kind."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.json", Path(folder) / "large.json"
        for kind, (_, n) in KINDS.items():
            if only in kind:
                n = max(1, round(n * scale))
                write_kind(small, kind, n)
                write_kind(large, kind, 4 * n)
                rows.append({"kind": kind, "n": n, **pair(small, large, rounds)})
    return rows


def main() -> None:
    """Print the rows, as JSON for run.py or as text."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="part of a kind's name")
    parser.add_argument("--pair", nargs=2, action="append", default=[], type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    rows = [
        {"kind": large.name, "n": 0, **pair(small, large, options.rounds)}
        for small, large in options.pair
    ]
    rows += hostile(options.scale, options.rounds, options.only)
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        cells = [f"{row['kind']:24} {row['bytes'][1] / 1e6:7.1f} MB"]
        for part in PARTS:
            ratio = "    -" if row[part] is None else f"{row[part]:5.2f}"
            cells.append(f"{part} {ratio} ({row[f'{part}_s'][0] * 1e3:5.1f} ms at N)")
        print("  ".join(cells))


if __name__ == "__main__":
    main()
