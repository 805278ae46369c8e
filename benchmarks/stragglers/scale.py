# SPDX-License-Identifier: BSD-3-Clause
"""scale.py: the cost of analyzing a job of 8, 64 and 512 ranks.

    python -m benchmarks.stragglers.scale [--sizes 8,64,512]

Each job is simulated, with one rank that is slow at a known line, and analyzed in a
process of its own with two children. Eight ranks are simulated together, so that each
collective ends when the last has come. A larger job has copies of the seven that wait,
each on its own host with another clock offset: the content of a rank's file does not
depend on the number of ranks. Writes benchmarks/results/ranks_scale.json and .md.
The largest takes 2.2 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.lab import _lab, pages
from torchtraceap import _core

SIMULATED = 8
SLOW_RANK = 3
SLOW_LINE = "data.py(41): load_batch"
SLOW_US, USUAL_US = 9_000, 1_000
STEPS = 5
LAYERS = 208
BUCKET_LAYERS = 16
_CLOCK_NS = 3_700_000  # Between neighbors, unlike what hosts' clocks differ by.


def program() -> _core.Program:
    """Return data-parallel training on eight ranks, reduced in buckets."""
    job = _core.Program()
    chance = random.Random(0)
    for rank in range(SIMULATED):
        job.add_thread(100 + rank, "main", rank)
        job.add_stream(7, 0, rank)
        job.add_stream(20, 0, rank)
    sequence = 0
    for step in range(STEPS):
        buckets = []
        for _ in range(LAYERS // BUCKET_LAYERS):
            buckets.append(
                _lab.add_collective(job, "allreduce", "0", SIMULATED, sequence)
            )
            sequence += 1
        for rank in range(SIMULATED):
            _step(job, rank, step, buckets, chance)
    return job


def _step(
    job: _core.Program, rank: int, step: int, buckets: list[int], chance: random.Random
) -> None:
    compute, reduce = 2 * rank, 2 * rank + 1

    def kernel(op: str, name: str, us: float) -> None:
        job.open(rank, op)
        job.host(rank, 3_000)
        job.kernel(
            rank, compute, name, round(1e3 * us * chance.uniform(1, 1.02)), 4_000
        )
        job.close(rank)

    job.open_span(rank, f"ProfilerStep#{step}")
    _lab.open_frame(job, rank, "train.py(20): train_step")
    _lab.open_frame(job, rank, SLOW_LINE)
    job.host(rank, 1000 * (SLOW_US if rank == SLOW_RANK else USUAL_US), "read")
    job.close(rank)
    _lab.open_frame(job, rank, "model.py(12): forward")
    for _ in range(LAYERS):
        kernel("aten::linear", "gemm", 60)
        kernel("aten::layer_norm", "layer_norm", 9)
        kernel("aten::gelu", "gelu", 6)
    job.close(rank)
    for layer in range(LAYERS):
        for _ in range(2):
            kernel("aten::mm", "gemm_backward", 60)
        kernel("aten::gelu_backward", "gelu_backward", 8)
        if (layer + 1) % BUCKET_LAYERS == 0:
            ready = job.add_event()
            job.record_event(rank, compute, ready, 1_500)
            job.stream_wait(rank, reduce, ready, 1_500)
            job.kernel(
                rank, reduce, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 400_000, 5_000,
                collective=buckets[layer // BUCKET_LAYERS],
            )  # fmt: skip
    done = job.add_event()
    job.record_event(rank, reduce, done, 1_500)
    job.stream_wait(rank, compute, done, 1_500)
    kernel("Optimizer.step#AdamW.step", "multi_tensor_apply", 200)
    job.stream_sync(rank, compute)
    job.close(rank)
    job.close(rank)


def write_job(folder: Path, ranks: int) -> int:
    """Write a trace for each rank; returns the bytes of the largest."""
    folder.mkdir(parents=True)
    simulated = program()
    texts = [simulated.trace_text(rank=rank) for rank in range(SIMULATED)]
    waiting = [rank for rank in range(SIMULATED) if rank != SLOW_RANK]
    for rank in range(ranks):
        simulated_rank = rank if rank < SIMULATED else waiting[rank % len(waiting)]
        told = (
            f'"host_name": "host{rank // 8}", '
            f'"baseTimeNanoseconds": {10**18 + rank // 8 * _CLOCK_NS}, '
            f'"distributedInfo": {{"backend": "nccl", "rank": {rank}, '
            f'"world_size": {ranks}}}'
        )
        text, replaced = re.subn(
            rb'"distributedInfo": \{[^}]*\}',
            told.encode(),
            texts[simulated_rank],
            count=1,
        )
        assert replaced == 1
        (folder / f"rank{rank}.json").write_bytes(text)
    return max(path.stat().st_size for path in folder.iterdir())


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
    """Return the page's figures for each job."""
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
