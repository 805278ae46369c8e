# SPDX-License-Identifier: BSD-3-Clause
"""schedule.py: programs of the ranks of a pipeline, and a scheduler that runs them.

Each rank computes microbatches, sends and gets messages, and takes part in collectives.
A message takes as long as it does from when both ends are there, a collective from when
all are. Messages of a batch are posted together, and end together.
"""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


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
        yield from batch(
            told("backward", True, done), told("forward", False, micro + 1)
        )
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
            f"{way}-compute",
            chunk,
            micro,
            posts,
            messages(at, False),
            messages(at, True),
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
                    rows[other].append(
                        Row(what.optype, begin, end, 0, -1, next(batches))
                    )
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
    assert all(a == len(p) for a, p in zip(at, programs, strict=True)), (
        "no rank can go on"
    )
    for rank, messages in enumerate(flights):
        for message, begin in messages:
            end = arrival(message)
            assert end is not None
            rows[rank].append(Row(message.optype, begin, end, -1, -1, next(batches)))
    return rows


def step_s(rows: list[list[Row]]) -> float:
    return max(row.end for rank in rows for row in rank)
