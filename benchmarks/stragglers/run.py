# SPDX-License-Identifier: BSD-3-Clause
"""run.py: whose work makes a recorded job slow, in the form of StragglerAnalysis.

    python -m benchmarks.stragglers.run FOLDER NAME

reads FOLDER/trace-NAME.parquet (and, beside it, FOLDER/result-NAME.json with what was
published, if it is there) and prints JSON:

slowdown        a step as it was, replayed, over one in which all work is shared evenly
                and each transfer takes what it usually does
replay_error    mean of |replayed - recorded| / recorded over the steps
culprits        ranks, stages and operation kinds, most first, each with its share: how
                much of the time lost goes if its work alone takes what is usual; below
                0 or above 1 where it hides others' or makes up for them. Empty where
                nobody is to blame.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.stragglers.operations import ranks_of, read_operations
from torchtraceap import _core

# A job as fast as an even one, within what its steps differ anyhow, has no culprit; nor
# is one who explains little of what is lost.
LEAST_SLOWDOWN = 1.02
LEAST_SHARE = 0.25


def figures(job: _core.Job) -> dict[str, Any]:
    as_it_was = job.replayed_step_ns()
    even = job.replayed_step_ns(usual=True)
    lost = as_it_was - even
    steps = job.steps.values()
    culprits: dict[str, list[dict[str, Any]]] = {}
    whole: dict[str, list[dict[str, Any]]] = {}
    choices: dict[str, tuple[str, list[Any]]] = {
        "ranks": ("rank", list(range(len(job.ranks)))),
        "stages": ("stage", sorted({rank.stage for rank in job.ranks})),
        "op_kinds": ("kind", sorted(job.kinds)),
    }
    for what, (option, values) in choices.items():
        rows = []
        for value in values:
            without = job.replayed_step_ns(usual=True, **{option: value})
            name = job.ranks[value].rank if option == "rank" else value
            share = (as_it_was - without) / lost if lost else 0.0
            rows.append({"name": name, "share": share})
        rows.sort(key=lambda row: -row["share"])
        whole[what] = rows
        slow = as_it_was / even >= LEAST_SLOWDOWN
        culprits[what] = [r for r in rows if slow and r["share"] >= LEAST_SHARE]
    return {
        "slowdown": as_it_was / even,
        "replay_error": sum(abs(b - a) / a for a, b in steps) / len(steps),
        "steps": len(steps),
        "step_s": {
            "recorded": job.recorded_step_ns() / 1e9,
            "replayed": as_it_was / 1e9,
            "even": even / 1e9,
        },
        "culprits": culprits,
        "all": whole,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    options = parser.parse_args()
    path = options.folder / f"trace-{options.name}.parquet"
    published = options.folder / f"result-{options.name}.json"
    if not path.is_file():
        there = sorted(p.stem[6:] for p in options.folder.glob("trace-*.parquet"))
        sys.exit(
            f"{path}: no such file. Name the folder and what follows 'trace-'"
            + (f": {', '.join(there)}" if there else "")
        )
    try:
        job = _core.Job(ranks_of(read_operations(path)), by_kind=True)
    except (ValueError, TypeError, OverflowError, RuntimeError, OSError) as error:
        sys.exit(f"{path}: not a job that can be replayed: {error}")
    out = {"job": options.name, "ranks": len(job.ranks), **figures(job)}
    if published.is_file():
        told = json.loads(published.read_text())
        out["published_slowdown"] = told.get("blocking_slowdown")
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
