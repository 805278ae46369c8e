# SPDX-License-Identifier: BSD-3-Clause
"""run.py: whose work makes a recorded job slow, in the form of StragglerAnalysis.

    python -m benchmarks.stragglers.run FOLDER NAME   # trace-NAME.parquet: one job
    python -m benchmarks.stragglers.run FOLDER        # all jobs there: a table
    python -m benchmarks.stragglers.run               # jobs made by `made`: the page

The first prints JSON; FOLDER/result-NAME.json, if it is there, has what was published:

slowdown        a step as it was over one in which all work is shared evenly (of each
                kind of operation the mean) and each transfer takes what it usually does
                (the median), both without the time in which hosts launched late
gain            what an even job saves of a step: low, mean, high
replay_error    mean of |replayed - recorded| / recorded over the steps, with that time
culprits        ranks, stages and operation kinds, most first, each with its share: how
                much of the time lost goes if its work alone takes what is usual; below
                0 or above 1 where it hides others' or makes up for them. Ranks are
                those that explain it together (`ranks_share`). Empty if none is to
                blame.

`form` says what the form is and how it is read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.lab import pages
from benchmarks.stragglers import made
from benchmarks.stragglers.form import ranks_of, read_operations
from torchtraceap import _core

# A job as fast as an even one, within what its steps differ anyhow, has no culprit; nor
# is one who explains little of what is lost.
LEAST_SLOWDOWN = 1.02
LEAST_SHARE = 0.25


def figures(path: Path) -> dict[str, Any]:
    """Return what is found in a job."""
    operations = read_operations(path)
    job = _core.Job(ranks_of(operations, delays=False), by_kind=True)
    recorded = _core.Job(ranks_of(operations, delays=True), by_kind=True)
    as_it_was = job.replayed_step_ns()
    even = job.replayed_step_ns(usual=True)
    lost = as_it_was - even

    def row(name: Any, **selected: Any) -> dict[str, Any]:
        without = job.replayed_step_ns(usual=True, **selected)
        return {"name": name, "share": (as_it_was - without) / lost if lost else 0.0}

    places, ranks_gain, stages, _ = job.slow_work()
    slow = as_it_was / even >= LEAST_SLOWDOWN
    kinds = [row(kind, kind=kind) for kind in sorted(job.kinds)] if slow else []
    kinds.sort(key=lambda one: -one["share"])
    steps = recorded.steps.values()
    return {
        "ranks": len(job.ranks),
        "slowdown": as_it_was / even,
        "replay_error": sum(abs(b - a) / a for a, b in steps) / len(steps),
        "steps": len(steps),
        "step_s": {
            "recorded": recorded.recorded_step_ns() / 1e9,
            "replayed": recorded.replayed_step_ns() / 1e9,
            "without_delays": as_it_was / 1e9,
            "even": even / 1e9,
        },
        "gain": [gain / as_it_was for gain in job.gain_ns()],
        "ranks_share": ranks_gain / lost if places else 0.0,
        "culprits": {
            "ranks": [row(job.ranks[place].rank, rank=place) for place in places],
            "stages": [row(stage, stage=stage) for stage in stages],
            "op_kinds": [one for one in kinds if one["share"] >= LEAST_SHARE],
        },
    }


def job_of(folder: Path, name: str) -> dict[str, Any]:
    """Return what is found in a job, and what was published of it."""
    path = folder / f"trace-{name}.parquet"
    if not path.is_file():
        there = ", ".join(_names(folder))
        sys.exit(
            f"{path}: no such file. Name the folder and what follows 'trace-'"
            + (f": {there}" if there else "")
        )
    try:
        out = {"job": name, **figures(path)}
    except (ValueError, TypeError, OverflowError, RuntimeError, OSError) as error:
        sys.exit(f"{path}: not a job that can be replayed: {error}")
    published = folder / f"result-{name}.json"
    if published.is_file():
        told = json.loads(published.read_text())
        out["published_slowdown"] = told.get("blocking_slowdown")
        out["published_dp"] = told.get("job_meta", {}).get("dp")
        out["published"] = {
            key: told[key] for key in ("slow", "ranks", "stages") if key in told
        }
    return out


def _names(folder: Path) -> list[str]:
    names = sorted(path.stem[6:] for path in folder.glob("trace-*.parquet"))
    return sorted(names, key=lambda name: int(name.partition("-")[0] or 0)
                  if name.partition("-")[0].isdigit() else 0)  # fmt: skip


def is_right(found: dict[str, Any]) -> bool:
    """Tell whether the culprits are those that a job was made with: its ranks or, where
    all ranks of a stage are slow, its stage, and none besides."""
    told, culprits = found["published"], found["culprits"]
    ranks = sorted(row["name"] for row in culprits["ranks"])
    stages = sorted(row["name"] for row in culprits["stages"])
    if found["published_dp"] == 1:
        # A stage of one rank is that rank.
        return ranks == told["ranks"] and stages == told["stages"]
    if told["slow"] == "stage":
        return not ranks and stages == told["stages"]
    return ranks == told["ranks"] and not stages


def who(found: dict[str, Any]) -> str:
    """Return the ranks and stages that are to blame: "rank 3, stage 2", or "none"."""
    culprits = found["culprits"]
    ranks = [f"rank {row['name']}" for row in culprits["ranks"]]
    stages = [f"stage {row['name']}" for row in culprits["stages"]]
    return ", ".join(ranks + stages) or "none"


def line(found: dict[str, Any]) -> str:
    """Return a job's row of the table."""
    told = found.get("published_slowdown")
    off = f"{100 * (found['slowdown'] / told - 1):+6.2f} %" if told else "       -"
    right = ""
    if "slow" in found.get("published", {}):
        right = "right" if is_right(found) else "WRONG"
    return (
        f"{found['job']:36} {told or 0:7.3f} {found['slowdown']:7.3f} {off}  "
        f"{right:6} {who(found)}"
    )


def counted(results: dict[str, Any]) -> dict[str, Any]:
    """Return the page's figures."""
    jobs = results["jobs"]
    gains = [(job, job["gain"]) for job in jobs]
    return {
        "right": sum(job["right"] for job in jobs),
        "worst": max(abs(j["slowdown"] / j["published_slowdown"] - 1) for j in jobs),
        "held": sum(low <= gain_made(job) <= high for job, (low, _, high) in gains),
        "width": statistics.median(high - low for _, (low, _, high) in gains),
    }


def gain_made(job: dict[str, Any]) -> float:
    """Return what an even job saves of a step, by the scheduler that made the job."""
    return 1 - 1 / float(job["published_slowdown"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("name", nargs="?")
    options = parser.parse_args()
    if options.name:
        print(json.dumps(job_of(options.folder, options.name), indent=2))
        return
    if options.folder:
        print(f"{'job':36} {'told':>7} {'found':>7} {'off':>8}         culprits")
        for name in _names(options.folder):
            print(line(job_of(options.folder, name)), flush=True)
        return
    rows, machine = [], pages.machine()
    with tempfile.TemporaryDirectory() as folder:
        for job in made.jobs():
            made.write(job, Path(folder))
            rows.append(job_of(Path(folder), job.name))
            rows[-1] |= {"right": is_right(rows[-1]), "who": who(rows[-1])}
            print(line(rows[-1]), flush=True)
    print(pages.write("made_jobs", {"machine": machine, "jobs": rows}))


if __name__ == "__main__":
    main()
