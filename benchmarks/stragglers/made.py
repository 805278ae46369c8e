# SPDX-License-Identifier: BSD-3-Clause
"""made.py: jobs of DP x PP x TP whose slowdown and culprit are known, in the form that
`run` reads.

`schedule` runs each rank's program. Slow work is a factor on computations, so the
truth is two more runs of the same programs: with the work shared evenly (the definition
of the published slowdown: computations of a kind take their mean, transfers their
median), and without what is slow. Rows are written as recorders write them: seconds as
float32, messages of one batch with a common begin and end, and begins early by up to 50
us, so that consecutive operations overlap.
"""

from __future__ import annotations

import json
import random
import statistics
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.stragglers.schedule import Length, Made, Row, program, schedule, step_s

# --- How long operations take, and the truth ------------------------------------------

_USUAL_S = {
    "forward-compute": 1.0, "backward-compute": 2.0, "optimizer": 0.6,
    "layernorm-grads-all-reduce": 0.0013, "message": 0.012,
    "params-all-gather": 0.4, "grads-reduce-scatter": 0.8,
    "embedding-grads-all-reduce": 0.15, "optimizer-clip-main-grad": 0.1,
}  # fmt: skip
_COMPUTED = ("forward-compute", "backward-compute", "optimizer")


def lengths(job: Made, step: int, *, slow: bool) -> Length:
    """Return how long each operation of a step takes, with what is slow or without."""
    cells = set(job.slow_cells())
    if job.slow == "alternating":
        cells = {job.slow_cells()[step % 2]}
    drawn: dict[tuple[str, tuple[int, ...]], float] = {}

    def length(optype: str, which: tuple[int, ...]) -> float:
        known = drawn.get((optype, which))
        if known is not None:
            return known
        of = which
        if optype in _COMPUTED:  # ranks of a tensor-parallel group go in step
            of = (which[0] // job.tp, *which[1:])
        chance = random.Random(f"{job.seed} {step} {optype} {of}")
        out = job.forward_s * _USUAL_S[optype] * chance.lognormvariate(0, 0.01)
        if optype in _COMPUTED:
            stage, dp = divmod(of[0], job.dp)
            if optype != "optimizer":
                out /= job.chunks
            if slow and (dp, stage) in cells:
                out *= job.factor
            if slow and job.slow == "sequences" and of[2] >= 0:
                length_of = random.Random(f"{job.seed} {step} {dp} {of[2]} length")
                out *= 0.5 + min(4, length_of.paretovariate(2)) / 4 * job.factor
        drawn[optype, which] = out
        return out

    return length


class Truth(NamedTuple):
    slowdown: float  #: As it was, over work that is shared evenly.
    without: float  #: As it was, over the same without what is slow.


def make(job: Made) -> tuple[pd.DataFrame, Truth]:
    """Return the rows of a job, and what is true of it."""
    cells = [
        (dp, stage, tp)
        for stage in range(job.pp)
        for dp in range(job.dp)
        for tp in range(job.tp)
    ]
    programs = [program(job, *cell) for cell in cells]
    runs = []
    for step in range(job.steps):
        length = lengths(job, step, slow=True)
        runs.append((schedule(programs, length), length))
    took: dict[str, list[float]] = defaultdict(list)
    for rows, length in runs:
        for rank, own in enumerate(rows):
            for row in own:
                name = "message" if row.optype[-4:] in ("send", "recv") else row.optype
                if name in _COMPUTED:
                    took[name].append(length(name, (rank, row.chunk, row.micro)))
                else:
                    took[name].append(job.forward_s * _USUAL_S[name])
    usual = {
        name: (statistics.fmean if name in _COMPUTED else statistics.median)(values)
        for name, values in took.items()
    }
    even = step_s(schedule(programs, lambda optype, _: usual[optype]))
    as_it_was = statistics.fmean(step_s(rows) for rows, _ in runs)
    without = statistics.fmean(
        step_s(schedule(programs, lengths(job, step, slow=False)))
        for step in range(job.steps)
    )
    table = pd.concat(
        _recorded(job, cells, step, rows) for step, (rows, _) in enumerate(runs)
    )
    return table, Truth(as_it_was / even, as_it_was / without)


def _recorded(
    job: Made, cells: list[tuple[int, int, int]], step: int, rows: list[list[Row]]
) -> pd.DataFrame:
    """Return a step as a recorder writes it."""
    chance = random.Random(f"{job.seed} {step} recorder")
    out = []
    for rank, own in enumerate(rows):
        dp, stage, _ = cells[rank]
        early: dict[int, float] = {}
        seen: dict[str, int] = defaultdict(int)
        for row in sorted(own, key=lambda row: row.begin):
            if row.batch not in early:
                early[row.batch] = chance.uniform(0, job.overlap_s)
            begin = max(0.0, row.begin - early[row.batch])
            nth = seen[row.optype]
            seen[row.optype] += 1
            chunk = row.chunk if row.micro >= 0 else -1
            whole = chunk * job.pp + stage if chunk >= 0 else -1
            if row.optype in ("params-all-gather", "grads-reduce-scatter"):
                chunk = 0
            out.append(
                (dp, stage, rank, 100 + step, row.optype, begin, row.end - begin, nth,
                 chunk, row.micro, whole)
            )  # fmt: skip
    table = pd.DataFrame(out, columns=list(_TYPES)).astype(_TYPES)
    table["optype"] = table["optype"].astype("category")
    return table


_TYPES = {
    "dp_rank": np.int16, "stage": np.int8, "rank": np.int16, "step": np.int64,
    "optype": object, "start_ts": np.float32, "duration": np.float32,
    "seq_id": np.int32, "mc": np.int8, "mb_id": np.int16, "gmc": np.int16,
}  # fmt: skip


# --- The jobs -------------------------------------------------------------------------


def jobs() -> list[Made]:
    """Return jobs of 8 to 256 ranks: each shape, with each of what can be slow."""
    shapes: list[dict[str, Any]] = [
        {"dp": 2, "pp": 4},
        {"dp": 8, "pp": 2, "schedule": "gpipe"},
        {"dp": 4, "pp": 4, "tp": 2},
        {"dp": 8, "pp": 8, "microbatches": 16},
        {"dp": 16, "pp": 4, "chunks": 2, "schedule": "interleaved"},
        {"dp": 32, "pp": 4, "schedule": "gpipe", "forward_s": 0.005},
        {"dp": 16, "pp": 8, "tp": 2, "microbatches": 16},
        {"dp": 1, "pp": 8, "microbatches": 16},
    ]
    what = {
        "none": 1.0, "worker": 2.3, "stage": 1.8, "sequences": 1.5,
        "workers": 1.7, "alternating": 2.0,
    }  # fmt: skip
    out = []
    for number, shape in enumerate(shapes):
        ranks = shape["dp"] * shape["pp"] * shape.get("tp", 1)
        for slow, factor in what.items():
            # One of two slow workers is most of a job of two, and one pipeline alone
            # has no other to differ from.
            if shape["dp"] < 4 and slow in ("workers", "alternating", "sequences"):
                continue
            way = shape.get("schedule", "1f1b")
            name = f"{ranks}-{shape['dp']}x{shape['pp']}-{way}-{slow}"
            out.append(
                Made(**shape, name=name, slow=slow, factor=factor, seed=17 * number,
                     steps=4 if slow == "alternating" else 3)
            )  # fmt: skip
    return out


def write(job: Made, folder: Path) -> None:
    """Write trace-NAME.parquet, and the truth as result-NAME.json."""
    table, truth = make(job)
    table.to_parquet(folder / f"trace-{job.name}.parquet")
    cells = job.slow_cells()
    told = {
        "job_meta": asdict(job),
        "blocking_slowdown": truth.slowdown,
        "without_the_culprit": truth.without,
        "slow": job.slow,
        "ranks": sorted(
            job.rank_of(*cell, tp) for cell in cells for tp in range(job.tp)
        ),
        "stages": sorted({stage for _, stage in cells}),
    }
    (folder / f"result-{job.name}.json").write_text(json.dumps(told))
