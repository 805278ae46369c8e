# SPDX-License-Identifier: BSD-3-Clause
"""measure.py: times load and analysis; run.py calls it with the package under test.

    python measure.py ROUNDS SCALE [--trace RAW GZIP]... [--pair ONE FOUR]...

One processor, so that loading takes one thread; every call in a process of its own, in
turns. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchmarks.analysis import kinds
from benchmarks.loader import hostile, scaling

FORMS = ("raw", "gzip")


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int)
    parser.add_argument("scale", type=float)
    parser.add_argument("--trace", nargs=2, action="append", default=[], type=Path)
    parser.add_argument("--pair", nargs=2, action="append", default=[], type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    traces: dict[str, dict[str, dict[str, list[float]]]] = {}
    for _ in range(options.rounds):
        for paths in options.trace:
            rows = traces.setdefault(paths[0].name.removesuffix(".json"), {})
            for form, path in zip(FORMS, paths, strict=True):
                row = rows.setdefault(form, {part: [] for part in scaling.PARTS})
                for part, spent in zip(scaling.PARTS, scaling.once(path), strict=True):
                    row[part].append(spent)
    rounds = max(2, options.rounds // 2)
    pairs = [
        {
            "kind": small.name.removesuffix(".1.json"),
            **scaling.pair(small, large, rounds),
        }
        for small, large in options.pair
    ]
    hostile.KINDS.update(kinds.KINDS)
    pairs += scaling.hostile(options.scale, rounds)
    print(json.dumps({"traces": traces, "scaling": pairs}))


if __name__ == "__main__":
    main()
