# SPDX-License-Identifier: BSD-3-Clause
"""scale.py: what a job of 8, 64 and 512 ranks takes to analyze.

    python -m benchmarks.stragglers.scale [--sizes 8,64,512]

Each job is simulated (scale_job.py), with one rank that is slow at a known line, and
analyzed in a process of its own with two children. Writes
benchmarks/results/ranks_scale.json and .md. The largest takes 2.2 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.lab import pages
from benchmarks.stragglers.scale_job import (
    LAYERS,
    SLOW_LINE,
    SLOW_RANK,
    STEPS,
    write_job,
)

#: Of the same records once more: joining alone, and reading all rows in Python.
PARTS = ("joining", "reading")
ROWS = (
    "ranks",
    "late",
    "causes",
    "steps",
    "joined_collectives",
    "collectives",
    "culprits",
)


def analyze_once(folder: str) -> dict[str, Any]:
    """Analyze a folder; to be called in a process of its own."""
    import resource

    import torchtraceap
    from torchtraceap.ranks import joining

    given: list[Any] = []

    class Kept(joining.JoinedJob):
        def __init__(self, *what: Any) -> None:
            given[:] = what
            super().__init__(*what)

    joining.JoinedJob = Kept  # type: ignore[misc]
    if hasattr(os, "sched_setaffinity"):  # two processors, so two children
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    began = time.perf_counter()
    torchtraceap.analyze(folder)
    out: dict[str, Any] = {"analyze_s": time.perf_counter() - began}
    began = time.perf_counter()
    joined = Kept(*given)
    parts = {"joining": time.perf_counter() - began}
    began = time.perf_counter()
    for name in ROWS:
        getattr(joined, name)
    parts["reading"] = time.perf_counter() - began
    ranks: list[joining.AnalyzedRank] = given[2]
    cause = joined.late[0]
    file, line, function = SLOW_LINE.replace("): ", "(").split("(")
    assert cause.location is not None
    own, children = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return out | {
        "parts_s": parts,
        "peak_mb": {"parent": own, "largest child": children},
        "record_kb": max(len(r.record.work or b"") for r in ranks) / 1000,
        "told": f"rank {cause.rank}, {cause.location.text}",
        "right": cause.rank == SLOW_RANK
        and (cause.location.file, cause.location.function) == (file, function)
        and line in (str(cause.location.line), str(cause.location.begins)),
        "slowdown": joined.facts.slowdown,
        "waited_ms": joined.facts.waited_us / 1e3,
    }


def measure(ranks: int) -> dict[str, Any]:
    """Write a job, analyze it, delete it."""
    folder = Path(tempfile.mkdtemp())
    try:
        largest = write_job(folder / "job", ranks)
        code = "import sys, benchmarks.stragglers.scale as s; s.answer(sys.argv[1])"
        run = subprocess.run(
            [sys.executable, "-c", code, str(folder / "job")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return {
            "ranks": ranks,
            "file_mb": largest / 1e6,
            **json.loads(run.stdout.splitlines()[-1]),
        }
    finally:
        shutil.rmtree(folder)


def answer(folder: str) -> None:
    print(json.dumps(analyze_once(folder)))


def of_the_job(results: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says of each job."""
    return {
        "layers": LAYERS,
        "steps": STEPS,
        "slow_rank": SLOW_RANK,
        "slow_line": SLOW_LINE,
        "parts": list(results["jobs"][0]["parts_s"]),
    }


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--sizes", default="8,64,512")
    options = parser.parse_args()
    machine = pages.machine()
    jobs = []
    for ranks in map(int, options.sizes.split(",")):
        jobs.append(measure(ranks))
        print(json.dumps(jobs[-1]), flush=True)
    print(pages.write("ranks_scale", {"machine": machine, "jobs": jobs}))


if __name__ == "__main__":
    main()
