# SPDX-License-Identifier: BSD-3-Clause
"""form.py: reads recorded jobs of ByteDance's StragglerAnalysis (arXiv 2505.05713): one
row per operation of a rank, times in float32 seconds.

What waited for what on one rank: a computation for the message that it needs and the
gathered parameters, a message for what it sends. The rest follows from time: an
operation began after the last one of each kind that had ended by then, unless
operations of its kind also begin while one of that kind, begun before, still runs: then
it only happened to be over. Recorded ends and begins of consecutive operations overlap
by some 10 us, and messages that were posted in one batch share begin and end, so that
neither of them came before the other.

Which operations of different ranks met follows from COLLECTIVES and, of messages, from
the computation that needed or made them: numbers of messages differ by rank where a
recorder also writes those that were never sent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from torchtraceap import _core

#: Consecutive operations overlap by up to 50 us in published jobs.
OVERLAP_S = 1e-4
NS = 1e9

#: Of the file; what else it has is not read.
COLUMNS = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration",
           "seq_id", "mc")  # fmt: skip


class Operation(NamedTuple):
    """A row of the file, as far as it is used."""

    dp_rank: int
    stage: int
    stages: int
    chunks: int  #: Of the model, per stage.
    tp_rank: int  #: Place among ranks of the same stage and data-parallel rank.
    rank: int
    step: int
    optype: str
    begin: float
    end: float
    seq_id: int
    chunk: int


# Collectives, and what is the same of all that take part.
COLLECTIVES = {
    "params-all-gather": lambda o: ("gather", o.stage, o.tp_rank, o.chunk, o.seq_id),
    "grads-reduce-scatter": lambda o: (
        "scatter", o.stage, o.tp_rank, o.chunk, o.seq_id,
    ),
    "separate-grads-all-reduce": lambda o: ("separate", o.stage, o.tp_rank, o.seq_id),
    # Of the first and the last stage, which share the embedding.
    "embedding-grads-all-reduce": lambda o: (
        "embedding", o.dp_rank, o.tp_rank, o.seq_id,
    ),
    # Clips by the norm of all gradients, so it holds a sum over all ranks.
    "optimizer-clip-main-grad": lambda o: ("clip", o.seq_id),
}  # fmt: skip
MESSAGES = {
    f"{way}-{end}" for way in ("forward", "backward") for end in ("send", "recv")
}


def read_operations(path: Path) -> list[Operation]:
    """Read all operations. ValueError for a file that is not of this form."""
    table = pd.read_parquet(path)
    if missing := [name for name in COLUMNS if name not in table]:
        raise ValueError(f"it has no column {', '.join(missing)}")
    # Messages that took no time were not sent. A kind of work that never took any time
    # cannot be late.
    took = table.groupby("optype", observed=True)["duration"].transform("max") > 0
    sent = ~table["optype"].isin(MESSAGES) | (table["duration"] > 0)
    table = table[took & sent]
    if table.empty:
        raise ValueError("no operation in it took any time")
    if table[list(COLUMNS)].isna().to_numpy().any():
        raise ValueError("some of its values are missing")
    group = table.groupby(["dp_rank", "stage"])["rank"]
    begin = table["start_ts"].astype(float)
    table = table.assign(
        stages=table["stage"].max() + 1,
        chunks=max(0, table["mc"].max()) + 1,
        tp_rank=group.rank(method="dense").astype(int) - 1,
        optype=table["optype"].astype(str),
        begin=begin,
        end=begin + table["duration"].astype(float),
        chunk=table["mc"],
    )
    columns = (table[name].tolist() for name in Operation._fields)
    return [Operation(*row) for row in zip(*columns, strict=True)]


def ranks_of(operations: list[Operation], *, delays: bool) -> list[_core.RankWork]:
    """Return each rank's work; steps are independent, as recorded ones lie apart.

    ``delays``: with the time between operations, when a rank's host launched the next
    one late. The published slowdown is that of a job without it.
    """
    steps: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    starts: dict[int, float] = {}
    for op in operations:
        steps[op.rank, op.step].append(op)
        starts[op.step] = min(op.begin, starts.get(op.step, op.begin))
    for own in steps.values():
        own.sort(key=lambda op: (op.begin, op.end, op.seq_id))
    keys = _all_keys(steps)
    # Each step gets a stretch of its own, twice as long as the longest.
    longest = max(op.end - starts[op.step] for op in operations)
    offsets = {
        step: at * 2 * longest - starts[step] for at, step in enumerate(sorted(starts))
    }
    ended = {key: list(_ended(own)) for key, own in steps.items()}
    apart = _independent(steps.values())
    by_rank: dict[int, list[_Step]] = defaultdict(list)
    for (rank, step), own in sorted(steps.items()):
        needs = _needs(own, keys[rank, step])
        befores = []
        for at, (op, all_of) in enumerate(zip(own, ended[rank, step], strict=True)):
            waits = [b for b in all_of if _kinds(own[b], op) not in apart]
            waits += [b for b in needs[at] if own[b].end <= op.begin + OVERLAP_S]
            befores.append(
                waits or [max(all_of, key=lambda b: own[b].end)] if all_of else waits
            )
        by_rank[rank].append(
            _Step(step, offsets[step], starts[step], own, keys[rank, step], befores)
        )
    return [_rank(rank, own, delays) for rank, own in by_rank.items()]


class _Step(NamedTuple):
    number: int
    offset: float
    start: float  #: Of all ranks.
    own: list[Operation]
    keys: list[Any]  #: Of each operation, as of _keys.
    befores: list[list[int]]  #: Of each operation, what it came after.


def _all_keys(steps: dict[tuple[int, int], list[Operation]]) -> dict[Any, list[Any]]:
    """Return the keys of all, without messages that were never sent, which are taken
    out of ``steps``."""
    keys = {key: _keys(own, False) for key, own in steps.items()}
    if any(of is None for of in keys.values()):
        keys = {key: _keys(own, True) for key, own in steps.items()}
    out: dict[Any, list[Any]] = {}
    for key, own in steps.items():
        pairs = [
            pair for pair in zip(own, keys[key] or (), strict=True)
            if pair[1] is not _NEVER
        ]  # fmt: skip
        steps[key], out[key] = [op for op, _ in pairs], [of for _, of in pairs]
    return out


def _ended(own: list[Operation]) -> Iterator[list[int]]:
    """Yield for each operation the last one of each kind that had ended by then."""
    so_far: dict[str, list[int]] = defaultdict(list)
    for at, op in enumerate(own):
        found = []
        for places in so_far.values():
            for before in reversed(places):
                other = own[before]
                batch = (other.begin, other.end) == (op.begin, op.end)
                if other.end <= min(op.begin + OVERLAP_S, op.end) and not batch:
                    found.append(before)
                    break
        yield found
        so_far[op.optype].append(at)


def _kinds(before: Operation, op: Operation) -> tuple[int, str, str]:
    return op.stage, before.optype, op.optype


def _independent(steps: Iterable[list[Operation]]) -> set[tuple[int, str, str]]:
    """Return the kinds of operations on a stage of which the second does not wait for
    the first: in one of fifty it begins while the first runs."""
    all_of: Counter[str] = Counter()
    beside: Counter[tuple[int, str, str]] = Counter()
    for own in steps:
        running: list[Operation] = []
        for op in own:
            all_of[op.optype] += 1
            running = [o for o in running if o.end > op.begin + OVERLAP_S]
            begun = {o.optype for o in running if o.begin < op.begin - OVERLAP_S}
            beside.update((op.stage, kind, op.optype) for kind in begun)
            running.append(op)
    return {kinds for kinds, count in beside.items() if count >= all_of[kinds[2]] / 50}


def _needs(own: list[Operation], keys: list[Any]) -> list[list[int]]:
    """Return what each operation works on: of a computation the message that it needs
    and the parameters of its chunk, of a message sent its computation."""
    out: list[list[int]] = [[] for _ in own]
    gathered = {
        op.chunk: at for at, op in enumerate(own) if op.optype == "params-all-gather"
    }
    messages = {
        (own[at].optype, key[-2:]): at
        for at, key in enumerate(keys)
        if own[at].optype in MESSAGES
    }
    for way, towards in (("forward", 1), ("backward", -1)):
        for at, compute in _computes(own, f"{way}-compute"):
            came = (compute.whole - towards, compute.micro)
            if (got := messages.get((f"{way}-recv", came))) is not None:
                out[at].append(got)
            went = (compute.whole, compute.micro)
            if (sent := messages.get((f"{way}-send", went))) is not None:
                out[sent].append(at)
            if compute.micro == 0 and compute.op.chunk in gathered:
                out[at].append(gathered[compute.op.chunk])
    return out


def _rank(rank: int, steps: list[_Step], delays: bool) -> _core.RankWork:
    kinds = sorted({op.optype for step in steps for op in step.own})
    recorded = [0]
    passages: list[tuple[int, int, int, list[tuple[int, int]]]] = []
    collectives: list[_core.RankCollective] = []
    numbers: list[tuple[int, int, int]] = []
    for step in steps:
        own, first = step.own, len(recorded)
        for op in own:
            recorded += [round((t + step.offset) * NS) for t in (op.begin, op.end)]
        for at, op in enumerate(own):
            begin = first + 2 * at
            ends = {first + 2 * before + 1 for before in step.befores[at]}
            latest = max(ends, key=lambda stop: recorded[stop], default=None)
            if latest is None:
                started = round((step.start + step.offset) * NS)
                passages.append((0, begin, recorded[begin] if delays else started, []))
            for end in ends:
                gap = recorded[begin] - recorded[end] if end == latest else 0
                passages.append((end, begin, gap if delays else 0, []))
            if step.keys[at] is not None:
                collectives.append(
                    _core.RankCollective(
                        repr(step.keys[at]), op.optype, step.number, begin, begin + 1
                    )
                )
            else:
                ns = recorded[begin + 1] - recorded[begin]
                part = [(kinds.index(op.optype), ns)]
                passages.append((begin, begin + 1, ns, part))
        last = max(range(len(own)), key=lambda at: own[at].end)
        numbers.append((step.number, first, first + 2 * last + 1))
    stage = steps[0].own[0].stage
    return _core.RankWork(rank, stage, recorded, kinds, passages, collectives, numbers)


def _keys(own: list[Operation], by_number: bool) -> list[Any] | None:
    """Return what is the same of all that met in an operation: None where it is work,
    and _NEVER for a message that was not sent. All is None where messages do not fit
    the computations; ``by_number`` uses their own numbers."""
    out = [
        COLLECTIVES[op.optype](op) if op.optype in COLLECTIVES else None for op in own
    ]
    for way, towards in (("forward", 1), ("backward", -1)):
        computes = [compute for _, compute in _computes(own, f"{way}-compute")]
        for end in ("send", "recv"):
            places = [at for at, op in enumerate(own) if op.optype == f"{way}-{end}"]
            places.sort(key=lambda at: own[at].seq_id)
            if by_number:
                back = 0 if end == "send" else towards
                for at in places:
                    sender = (own[at].stage - back) % own[at].stages
                    out[at] = (way, own[at].dp_rank, own[at].tp_rank, sender,
                               own[at].seq_id)  # fmt: skip
                continue
            # A recorder may write down those before the first computation of their
            # direction ended, or after the last one began, which nothing needs.
            needed = [
                at for at in places if computes and (
                    own[at].end >= computes[0].op.end - OVERLAP_S
                    if end == "send"
                    else own[at].begin <= computes[-1].op.begin + OVERLAP_S
                )
            ]  # fmt: skip
            step = towards if end == "send" else -towards
            whole = own[0].stages * own[0].chunks
            real = [c for c in computes if 0 <= c.whole + step < whole]
            fitting = [
                c for c in (real, computes, computes[1:]) if len(c) == len(needed)
            ]
            if not fitting:
                return None
            for at in places:
                out[at] = _NEVER
            for at, c in zip(needed, fitting[0], strict=True):
                if 0 <= c.whole + step < whole:
                    sender = c.whole if end == "send" else c.whole + step
                    out[at] = (way, c.op.dp_rank, c.op.tp_rank, sender, c.micro)
    return out


_NEVER = ("never sent",)


class _Compute(NamedTuple):
    op: Operation
    whole: int  #: Its chunk of the whole model.
    micro: int


def _computes(own: list[Operation], optype: str) -> Iterator[tuple[int, _Compute]]:
    seen: Counter[int] = Counter()
    for at, op in enumerate(own):
        if op.optype == optype:
            whole = op.chunk * op.stages + op.stage
            yield at, _Compute(op, whole, seen[op.chunk])
            seen[op.chunk] += 1
