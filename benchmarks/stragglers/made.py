# SPDX-License-Identifier: BSD-3-Clause
"""made.py: jobs of DP x PP x TP whose slowdown and culprit are known, in the form that
`run` reads.

A scheduler runs each rank's program: computations of microbatches, batches of messages,
collectives. What is slow is a factor on computations, so the truth is two more runs of
the same programs: with the work shared evenly (the definition of the published
slowdown: computations of a kind take their mean, transfers their median), and without
what is slow. Rows are written as recorders write them: seconds as float32, messages of
one batch with a common begin and end, and begins early by up to 50 us, so that
consecutive operations overlap.
"""

from __future__ import annotations

import json
import random
import statistics
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Made:
    """A job. Times in seconds."""

    name: str
    dp: int
    pp: int
    tp: int = 1
    chunks: int = 1  #: Of the model, per stage; of two, a stage's are interleaved.
    microbatches: int = 8
    steps: int = 3
    schedule: str = "1f1b"  #: Or "gpipe", or "interleaved" with messages in flight.
    #: "none", "worker", "stage", "sequences", "workers" (two), "alternating" (two, each
    #: slow in every second step).
    slow: str = "none"
    factor: float = 1.0  #: How often as long the slow work takes.
    forward_s: float = 0.03
    overlap_s: float = 5e-5
    seed: int = 0

    @property
    def ranks(self) -> int:
        return self.dp * self.pp * self.tp

    def slow_cells(self) -> list[tuple[int, int]]:
        """Return what is slow: pairs of data-parallel rank and stage."""
        chance = random.Random(self.seed + 1)
        if self.slow == "stage":
            stage = chance.randrange(self.pp)
            return [(dp, stage) for dp in range(self.dp)]
        count = {"worker": 1, "workers": 2, "alternating": 2}.get(self.slow, 0)
        return [
            (dp, chance.randrange(self.pp))
            for dp in chance.sample(range(self.dp), count)
        ]

    def rank_of(self, dp: int, stage: int, tp: int = 0) -> int:
        return (stage * self.dp + dp) * self.tp + tp


class Message(NamedTuple):
    """What a stage sends or gets; both ends know it by `key`."""

    optype: str
    key: tuple[str, int, int, int]  #: Direction, dp, sender's chunk, microbatch.


class Compute(NamedTuple):
    optype: str
    chunk: int = 0
    micro: int = -1
    #: In-flight messages: posted before it, those it needs, and those it sends.
    posts: tuple[Message, ...] = ()
    needs: tuple[Message, ...] = ()
    sends: tuple[Message, ...] = ()


class Batch(NamedTuple):
    """Messages posted together; the rank goes on when all have arrived."""

    messages: tuple[Message, ...]


class Collective(NamedTuple):
    optype: str
    key: tuple[Any, ...]
    members: int


Program = list[Compute | Batch | Collective]
#: How long an operation takes: by optype, and a number of its own.
Length = Callable[[str, tuple[int, ...]], float]


class Row(NamedTuple):
    optype: str
    begin: float
    end: float
    chunk: int
    micro: int
    batch: int  #: The same for messages of one batch.


# --- Programs -------------------------------------------------------------------------


def _message(job: Made, way: str, send: bool, dp: int, chunk: int, micro: int) -> Any:
    """Return the message from or to a chunk of the whole model; None at its ends."""
    last = job.pp * job.chunks - 1
    step = 1 if way == "forward" else -1
    sender = chunk if send else chunk - step
    if not 0 <= sender <= last or not 0 <= sender + step <= last:
        return None
    return Message(f"{way}-{'send' if send else 'recv'}", (way, dp, sender, micro))


def _plain(job: Made, dp: int, stage: int) -> Iterator[Compute | Batch]:
    """1F1B or, with all microbatches ahead, GPipe, as Megatron runs them."""

    def batch(*messages: Message | None) -> Iterator[Batch]:
        if there := tuple(m for m in messages if m is not None):
            yield Batch(there)

    def told(way: str, send: bool, micro: int) -> Any:
        inside = 0 <= micro < job.microbatches
        return _message(job, way, send, dp, stage, micro) if inside else None

    n = job.microbatches
    ahead = n if job.schedule == "gpipe" else min(job.pp - stage - 1, n)
    for micro in range(ahead):
        yield from batch(told("forward", False, micro))
        yield Compute("forward-compute", 0, micro)
        yield from batch(told("forward", True, micro))
    if ahead < n:
        yield from batch(told("forward", False, ahead))
    for micro in range(ahead, n):
        done = micro - ahead
        yield Compute("forward-compute", 0, micro)
        yield from batch(told("forward", True, micro), told("backward", False, done))
        yield Compute("backward-compute", 0, done)
        yield from batch(told("backward", True, done), told("forward", False, micro + 1))
    for micro in range(n - ahead, n):
        yield from batch(told("backward", False, micro))
        yield Compute("backward-compute", 0, micro)
        yield from batch(told("backward", True, micro))


def _interleaved(job: Made, dp: int, stage: int) -> Iterator[Compute]:
    """Chunks in turn, each `pp` microbatches; a message is asked for while the
    computation before is running, and sent while the next one is."""
    total = job.microbatches * job.chunks

    def nth(way: str, at: int) -> tuple[int, int]:
        turn, place = divmod(at, job.pp * job.chunks)
        chunk, micro = divmod(place, job.pp)
        if way == "backward":
            chunk = job.chunks - 1 - chunk
        return chunk, turn * job.pp + micro

    ahead = min((job.pp - stage - 1) * 2 + (job.chunks - 1) * job.pp, total)
    order = [("forward", at) for at in range(ahead)]
    for at in range(total - ahead):
        order += [("forward", ahead + at), ("backward", at)]
    order += [("backward", at) for at in range(total - ahead, total)]

    def messages(at: int, send: bool) -> tuple[Message, ...]:
        if at >= len(order):
            return ()
        way, place = order[at]
        chunk, micro = nth(way, place)
        one = _message(job, way, send, dp, chunk * job.pp + stage, micro)
        return (one,) if one else ()

    for at, (way, place) in enumerate(order):
        chunk, micro = nth(way, place)
        posts = messages(0, False) if at == 0 else ()
        posts += messages(at + 1, False)
        yield Compute(
            f"{way}-compute", chunk, micro, posts, messages(at, False), messages(at, True)
        )


def program(job: Made, dp: int, stage: int, tp: int) -> Program:
    """Return what one rank does in one step."""
    made = _interleaved if job.schedule == "interleaved" else _plain
    out: Program = [Collective("params-all-gather", ("gather", stage, tp), job.dp)]
    out += made(job, dp, stage)
    out.append(Compute("layernorm-grads-all-reduce"))
    if job.pp > 1 and stage in (0, job.pp - 1):
        out.append(Collective("embedding-grads-all-reduce", ("embedding", dp, tp), 2))
    out.append(Collective("grads-reduce-scatter", ("scatter", stage, tp), job.dp))
    out.append(Collective("optimizer-clip-main-grad", ("clip",), job.ranks))
    out.append(Compute("optimizer"))
    return out


# --- The scheduler --------------------------------------------------------------------


def schedule(programs: list[Program], length: Length) -> list[list[Row]]:
    """Run the programs of all ranks; O(n) in their operations."""
    rows: list[list[Row]] = [[] for _ in programs]
    clock = [0.0] * len(programs)
    at = [0] * len(programs)
    posted: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    waiting: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    came: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
    flights: list[list[tuple[Message, float]]] = [[] for _ in programs]
    batches = iter(range(1 << 60))

    def arrival(message: Message) -> float | None:
        ends = posted[message.key]
        if len(ends) < 2:
            return None
        return max(ends.values()) + length("message", message.key[1:])

    def post(message: Message, when: float) -> set[int]:
        posted[message.key].setdefault(message.optype[-4:], when)
        return waiting.pop(message.key, set())

    def missing(rank: int, messages: tuple[Message, ...]) -> bool:
        for message in messages:
            if arrival(message) is None:
                waiting[message.key].add(rank)
                return True
        return False

    def advance(rank: int) -> set[int]:
        """Run a rank until it waits; return whom it woke."""
        woken: set[int] = set()
        while at[rank] < len(programs[rank]):
            what, now = programs[rank][at[rank]], clock[rank]
            if isinstance(what, Batch):
                for message in what.messages:
                    woken |= post(message, now)
                if missing(rank, what.messages):
                    return woken
                end = max(arrival(m) or 0.0 for m in what.messages)
                one = next(batches)
                rows[rank] += [
                    Row(m.optype, now, end, -1, -1, one) for m in what.messages
                ]
            elif isinstance(what, Collective):
                came[what.key][rank] = now
                if len(came[what.key]) < what.members:
                    return woken
                last = max(came[what.key].values())
                end = last + length(what.optype, (zlib.crc32(repr(what.key).encode()),))
                for other, begin in came.pop(what.key).items():
                    rows[other].append(Row(what.optype, begin, end, 0, -1, next(batches)))
                    clock[other] = end
                    at[other] += 1
                    woken.add(other)
                continue
            else:
                for message in what.posts:
                    if message.optype[-4:] not in posted[message.key]:
                        flights[rank].append((message, now))
                        woken |= post(message, now)
                if missing(rank, what.needs):
                    return woken
                begin = max([now, *(arrival(m) or 0.0 for m in what.needs)])
                end = begin + length(what.optype, (rank, what.chunk, what.micro))
                rows[rank].append(
                    Row(what.optype, begin, end, what.chunk, what.micro, next(batches))
                )
                for message in what.sends:
                    flights[rank].append((message, end))
                    woken |= post(message, end)
            clock[rank] = end
            at[rank] += 1
        return woken

    ready = set(range(len(programs)))
    while ready:
        ready = {other for rank in sorted(ready) for other in advance(rank)}
    assert all(a == len(p) for a, p in zip(at, programs, strict=True)), "it stands still"
    for rank, messages in enumerate(flights):
        for message, begin in messages:
            end = arrival(message)
            assert end is not None
            rows[rank].append(Row(message.optype, begin, end, -1, -1, next(batches)))
    return rows


def step_s(rows: list[list[Row]]) -> float:
    return max(row.end for rank in rows for row in rank)


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
