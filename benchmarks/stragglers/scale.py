# SPDX-License-Identifier: BSD-3-Clause
"""scale.py: what a job of 8, 64 and 512 ranks takes to analyze.

    python -m benchmarks.stragglers.scale [--sizes 8,64,512] [--no-page]

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

from benchmarks import RESULTS, ROOT
from benchmarks.loader import environments
from benchmarks.loader.render import table
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


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    machine, jobs = results["machine"], results["jobs"]
    rows = [
        (
            str(job["ranks"]),
            f"{job['analyze_s']:.1f}",
            f"{1e3 * job['analyze_s'] / job['ranks']:.0f}",
            f"{job['peak_mb']['parent']:.0f}",
            f"{job['peak_mb']['largest child']:.0f}",
            job["told"],
        )
        for job in jobs
    ]
    parts = [
        (
            str(job["ranks"]),
            *(f"{1e3 * job['parts_s'][part]:.0f}" for part in PARTS),
            f"{1e3 * sum(job['parts_s'].values()) / job['ranks']:.1f}",
        )
        for job in jobs
    ]
    head = (
        "ranks",
        "s",
        "ms a rank",
        "MB, parent",
        "MB, largest child",
        "blamed first",
    )
    return f"""# What the ranks of a job take

Written by `python -m benchmarks.stragglers.scale`; not edited by hand.

{machine["date"]}, commit {machine["commit"]}. {machine["processor"]}, \
{machine["cores"]} cores; load average {machine["load_before"]:.1f} before and \
{machine["load_after"]:.1f} after.

A simulated job: data-parallel training of {LAYERS} layers for {STEPS} steps, a file of
{jobs[0]["file_mb"]:.1f} MB a rank, of which rank {SLOW_RANK} takes longer at
`{SLOW_LINE}`. Each file is read in one of two child processes, which give their
memory back, and reduced to {jobs[0]["record_kb"]:.0f} kB.

{table(head, rows)}
Of these, what is done when all files are read, in milliseconds; the last column is both
by rank.

{table(("ranks", *PARTS, "a rank"), parts)}"""


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--sizes", default="8,64,512")
    parser.add_argument("--no-page", action="store_true", help="only print")
    options = parser.parse_args()
    machine = environments.machine()
    jobs = []
    for ranks in map(int, options.sizes.split(",")):
        jobs.append(measure(ranks))
        print(json.dumps(jobs[-1]), flush=True)
    machine["load_after"] = os.getloadavg()[0]
    results = {"machine": machine, "jobs": jobs}
    if not options.no_page:
        (RESULTS / "ranks_scale.json").write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "ranks_scale.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
