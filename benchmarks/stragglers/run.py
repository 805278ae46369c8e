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
                0 or above 1 where it hides others' or makes up for them. Empty if
                no rank is to blame.

The form is that of ByteDance's StragglerAnalysis (arXiv 2505.05713): one row per
operation of a rank. Which operation waited for which on one rank follows from time
alone: an operation began after the last one of each kind that had ended by then. Which
operations of different ranks met follows from COLLECTIVES.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from torchtraceap import _core

# Times are float32 seconds, so that an end may lie this much after the next begin.
SLACK_S = 2e-5
NS = 1e9


class Operation(NamedTuple):
    """A row of the file, as far as it is used."""

    dp_rank: int
    stage: int
    stages: int
    rank: int
    step: int
    optype: str
    begin: float
    end: float
    seq_id: int
    chunk: int


def _message(to: int) -> Any:
    """What one stage sends to the next, or before: told by the sender's stage."""

    def key(op: Operation) -> tuple[object, ...]:
        sender = op.stage if op.optype.endswith("send") else op.stage - to
        # Of several chunks of the model a stage, the last stage sends to the first.
        sender %= op.stages
        return ("forward" if to > 0 else "backward", op.dp_rank, sender, op.seq_id)

    return key


# Operations in which ranks meet, and what is the same of all that do.
COLLECTIVES = {
    "forward-send": _message(+1),
    "forward-recv": _message(+1),
    "backward-send": _message(-1),
    "backward-recv": _message(-1),
    "params-all-gather": lambda op: ("gather", op.stage, op.chunk, op.seq_id),
    "grads-reduce-scatter": lambda op: ("scatter", op.stage, op.chunk, op.seq_id),
    # Of the first and the last stage, which share the embedding.
    "embedding-grads-all-reduce": lambda op: ("embedding", op.dp_rank, op.seq_id),
    # Clips by the norm of all gradients, so it holds a sum over all ranks.
    "optimizer-clip-main-grad": lambda op: ("clip", op.seq_id),
}


#: Of the file; what else it has is not read.
COLUMNS = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration",
           "seq_id", "mc")  # fmt: skip


def read_operations(path: Path) -> list[Operation]:
    """Read those that took time. ValueError for a file that is not of this form."""
    table = pd.read_parquet(path)
    if missing := [name for name in COLUMNS if name not in table]:
        raise ValueError(f"it has no column {', '.join(missing)}")
    table = table[table["duration"] > 0]
    if table.empty:
        raise ValueError("no operation in it took any time")
    if table[list(COLUMNS)].isna().to_numpy().any():
        raise ValueError("some of its values are missing")
    begin = table["start_ts"].astype(float)
    table = table.assign(
        stages=table["stage"].max() + 1,
        optype=table["optype"].astype(str),
        begin=begin,
        end=begin + table["duration"].astype(float),
        chunk=table["mc"],
    )
    columns = (table[name].tolist() for name in Operation._fields)
    return [Operation(*row) for row in zip(*columns, strict=True)]


def ranks_of(operations: list[Operation]) -> list[_core.RankWork]:
    """Return each rank's work; steps are independent, as recorded ones lie apart."""
    by_rank: dict[int, list[Operation]] = {}
    for op in operations:
        by_rank.setdefault(op.rank, []).append(op)
    starts: dict[int, float] = {}
    for op in operations:
        starts[op.step] = min(op.begin, starts.get(op.step, op.begin))
    # Each step gets a stretch of its own, twice as long as the longest.
    longest = max(op.end - starts[op.step] for op in operations)
    offsets = {
        step: at * 2 * longest - starts[step] for at, step in enumerate(sorted(starts))
    }
    return [_rank(rank, own, offsets) for rank, own in sorted(by_rank.items())]


def _rank(
    rank: int, operations: list[Operation], offsets: dict[int, float]
) -> _core.RankWork:
    kinds = sorted({op.optype for op in operations})
    recorded = [0]
    passages: list[tuple[int, int, int, list[tuple[int, int]]]] = []
    collectives: list[_core.RankCollective] = []
    steps: list[tuple[int, int, int]] = []
    for step, own in _by_step(operations):
        first = len(recorded)
        for op in own:
            recorded += [round((t + offsets[step]) * NS) for t in (op.begin, op.end)]
        for at, op in enumerate(own):
            begin = first + 2 * at
            for before, gap in _waited_for(own, at):
                if before is None:
                    passages.append((0, begin, recorded[begin], []))
                else:
                    passages.append((first + 2 * before + 1, begin, gap, []))
            if op.optype in COLLECTIVES:
                key = repr(COLLECTIVES[op.optype](op))
                collectives.append(
                    _core.RankCollective(key, op.optype, step, begin, begin + 1)
                )
            else:
                ns = recorded[begin + 1] - recorded[begin]
                part = [(kinds.index(op.optype), ns)]
                passages.append((begin, begin + 1, ns, part))
        last = max(range(len(own)), key=lambda at: own[at].end)
        steps.append((step, first, first + 2 * last + 1))
    return _core.RankWork(
        rank, operations[0].stage, recorded, kinds, passages, collectives, steps
    )


def _by_step(operations: list[Operation]) -> Iterator[tuple[int, list[Operation]]]:
    by_step: dict[int, list[Operation]] = {}
    for op in operations:
        by_step.setdefault(op.step, []).append(op)
    for step, own in sorted(by_step.items()):
        yield step, sorted(own, key=lambda op: (op.begin, op.end))


def _waited_for(own: list[Operation], at: int) -> Iterator[tuple[int | None, int]]:
    """Yield what an operation came after, and by how much at least, in nanoseconds.

    After the last to end it came by what was recorded; after others at any time.
    """
    begin = own[at].begin
    ended: dict[str, int] = {}
    for place, op in enumerate(own):
        if op.begin >= begin:
            break
        if op.end > begin + SLACK_S:
            continue
        known = ended.get(op.optype)
        if known is None or own[known].end <= op.end:
            ended[op.optype] = place
    if not ended:
        yield None, 0
        return
    latest = max(ended.values(), key=lambda place: own[place].end)
    for place in ended.values():
        gap = begin - own[place].end if place == latest else 0
        yield place, round(gap * NS)


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
