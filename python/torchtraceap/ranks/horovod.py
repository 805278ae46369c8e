# SPDX-License-Identifier: BSD-3-Clause
"""horovod.py: what a Horovod timeline tells of the waits of ranks for each other.

Rank 0 of a Horovod job writes a Chrome trace (HOROVOD_TIMELINE) whose processes are
tensors. Before a collective, rank 0 hears from every rank that it is ready: a range
NEGOTIATE_ALLREDUCE, in it an instant called by the number of each rank, at the time at
which rank 0 heard of it. Then follows a range ALLREDUCE, in it what was done. With the
response cache (Horovod 0.19 on), what was negotiated once names no ranks after that.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from torchtraceap import _core
from torchtraceap.base.errors import TraceError
from torchtraceap.base.safe_text import printable

_NEGOTIATE = "NEGOTIATE_"
# Beginnings of the activities that move data between ranks; the others wait for data,
# for a turn, or copy within a rank.
_TRANSFERS = ("NCCL_", "MPI_", "GLOO_", "CCL_", "MLSL_", "DDL_", "ADASUM")
# Rank 0 hears from all ranks once a cycle (1 ms by default), and writes down those of
# one cycle one after another, by number: that is no order of theirs.
TOGETHER_US = 500.0

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HorovodTensor:
    """The collectives of one tensor; times are sums over them, in microseconds."""

    name: str
    operation: str  #: "ALLREDUCE", "ALLGATHER", "BROADCAST"
    count: int  #: Negotiations that ended.
    named: int  #: Of them, those that name the ranks.
    #: From when rank 0 heard of the first rank until all were ready.
    negotiation_us: float
    #: Of those that name ranks: from the first rank ready to the last one.
    wait_us: float
    #: How often each rank came last, by at least `TOGETHER_US`, the most often first.
    last: dict[int, int]
    operation_us: float  #: From the end of the negotiation to the result.
    transfer_us: float  #: Of that, communication between ranks.
    #: What else was done: {"WAIT_FOR_DATA": 120.0, "MEMCPY_IN_FUSION_BUFFER": 8.0}.
    activities_us: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class HorovodRank:
    """What the negotiations that name ranks tell of one of them."""

    rank: int
    last: int  #: How often it came last, by at least `TOGETHER_US`.
    held_up_us: float  #: How long these would have been over without the last ones.
    waited_us: float  #: How long it was ready and not all others were.


@dataclass(frozen=True)
class HorovodTimeline:
    """What a Horovod timeline tells."""

    path: str
    span_us: float  #: From its first event to its last.
    tensors: tuple[HorovodTensor, ...]  #: The longest negotiations first.
    ranks: tuple[HorovodRank, ...]  #: By number; empty if no negotiation names them.
    count: int  #: Negotiations that ended.
    named: int  #: Of them, those that name ranks.
    open: int  #: Ranges without an end: the file was cut, or the job hung there.


def is_horovod(trace: _core.Trace) -> bool:
    """Tell whether a trace is a Horovod timeline, and not one of torch.profiler."""
    known = trace.columns["category"] != trace.category_names.index("unknown")
    if bool((known & (trace.columns["phase"] != b"M")).any()):
        return False
    return any(name.startswith(_NEGOTIATE) for name in trace.strings)


def read_horovod(trace: _core.Trace) -> HorovodTimeline:
    """Read a Horovod timeline. Raises TraceError for a trace that is none."""
    if not is_horovod(trace):
        cause = "this is no Horovod timeline: no event is called NEGOTIATE_..."
        hint = "Give the file that HOROVOD_TIMELINE names"
        raise TraceError(f"{trace.path}: {cause}. {hint}.", trace.path, "horovod", hint)
    events = _Events(trace)
    names = trace.strings
    negotiates = np.array([name.startswith(_NEGOTIATE) for name in names])
    ranges = events.ranges()
    first = negotiates[ranges.name]
    negotiations, rest = ranges.where(first), ranges.where(~first)
    ticks = _Ticks(events, negotiations, names)
    return HorovodTimeline(
        trace.path,
        events.span_us,
        tuple(_tensors(trace, negotiations, rest, ticks)),
        tuple(ticks.ranks()),
        len(negotiations.pid),
        int(np.count_nonzero(ticks.named)),
        ranges.open,
    )


@dataclass(frozen=True)
class _Ranges:
    """Ranges from a B to its E, by process and start."""

    pid: Numbers
    name: Numbers
    begin: Numbers
    end: Numbers
    depth: Numbers
    open: int = 0

    def where(self, chosen: npt.NDArray[np.bool_]) -> _Ranges:
        return _Ranges(
            self.pid[chosen],
            self.name[chosen],
            self.begin[chosen],
            self.end[chosen],
            self.depth[chosen],
        )


class _Events:
    """The events that have a time, by process and in the order of the file."""

    def __init__(self, trace: _core.Trace) -> None:
        columns = trace.columns
        phase, ts = columns["phase"], columns["ts"]
        rows = np.flatnonzero((phase != b"M") & (ts != _core.NO_TIME))
        times = ts[rows]
        self.span_us = float(times.max() - times.min()) / 1000 if rows.size else 0.0
        rows = rows[np.argsort(columns["pid"][rows], kind="stable")]
        self.phase, self.ts = phase[rows], ts[rows]
        self.pid = columns["pid"][rows]
        self.name = columns["name"][rows].astype(np.int64)

    def ranges(self) -> _Ranges:
        """Pair each B with the next E of its process and depth."""
        begins, ends = self.phase == b"B", self.phase == b"E"
        marks = np.flatnonzero(begins | ends)
        pid, is_begin = self.pid[marks], begins[marks]
        change = np.where(is_begin, 1, -1)
        depth = np.cumsum(change)
        # What a process before it left open does not count.
        starts = np.flatnonzero(np.diff(pid, prepend=pid[:1] - 1))
        before = depth[starts] - change[starts]
        sizes = np.diff(np.append(starts, len(marks)))
        depth = depth - np.repeat(before, sizes) + ~is_begin
        order = np.lexsort((np.arange(len(marks)), depth, pid))
        one, two = order[:-1], order[1:]
        pairs = (
            is_begin[one]
            & ~is_begin[two]
            & (pid[one] == pid[two])
            & (depth[one] == depth[two])
        )
        b, e = marks[one[pairs]], marks[two[pairs]]
        by_start = np.argsort(b, kind="stable")
        b, e = b[by_start], e[by_start]
        return _Ranges(
            self.pid[b],
            self.name[b],
            self.ts[b],
            np.maximum(self.ts[e], self.ts[b]),
            depth[one[pairs]][by_start],
            int(np.count_nonzero(is_begin)) - len(b),
        )


class _Ticks:
    """When rank 0 heard of each rank, in the negotiations that name ranks."""

    def __init__(
        self, events: _Events, negotiations: _Ranges, names: list[str]
    ) -> None:
        number = np.array(
            [
                int(n) if n.isascii() and n.isdigit() and len(n) < 8 else -1
                for n in names
            ]
        )
        rows = np.flatnonzero((events.phase == b"X") & (number[events.name] >= 0))
        at = _inside(negotiations, events.pid[rows], events.ts[rows])
        rows, at = rows[at >= 0], at[at >= 0]
        order = np.lexsort((events.ts[rows], at))
        self.at = at[order]  # Index into the negotiations, ascending.
        self.ts = events.ts[rows][order]
        self.rank = number[events.name[rows]][order]
        count = len(negotiations.pid)
        self.named = np.bincount(self.at, minlength=count) > 0
        firsts = np.searchsorted(self.at, np.arange(count))
        lasts = np.searchsorted(self.at, np.arange(count), side="right") - 1
        self.last_ts = self.ts[np.maximum(lasts, 0)] if len(self.ts) else self.ts
        self.wait = np.zeros(count, np.int64)
        self.wait[self.named] = self.ts[lasts[self.named]] - self.ts[firsts[self.named]]
        self._find_last()

    def _find_last(self) -> None:
        """Find the ticks of those that came together, and later than all others."""
        same = np.diff(self.at, prepend=-1) == 0
        gap = np.where(same, np.diff(self.ts, prepend=self.ts[:1]), 0)
        breaks = gap >= TOGETHER_US * 1000
        group = np.cumsum(breaks | ~same)
        # The last break of each negotiation begins those that came last.
        is_last = np.zeros(len(self.at), bool)
        self.held_up = np.zeros(len(self.at), np.int64)
        if not len(self.at):
            self.is_last = is_last
            return
        ends = np.flatnonzero(np.append(np.diff(self.at) != 0, True))
        last_group = np.repeat(group[ends], np.diff(np.append(-1, ends)))
        head = np.searchsorted(group, last_group)  # Where that group begins.
        self.is_last = (group == last_group) & breaks[head]
        self.held_up[self.is_last] = gap[head][self.is_last]

    def ranks(self) -> list[HorovodRank]:
        """Return what is told of each rank."""
        if not len(self.rank):
            return []
        highest = int(self.rank.max()) + 1
        last = np.bincount(self.rank[self.is_last], minlength=highest)
        held_up = np.bincount(self.rank, self.held_up, highest)
        waited = np.bincount(self.rank, self.last_ts[self.at] - self.ts, highest)
        return [
            HorovodRank(
                int(rank),
                int(last[rank]),
                float(held_up[rank]) / 1000,
                float(waited[rank]) / 1000,
            )
            for rank in np.unique(self.rank)
        ]


def _inside(ranges: _Ranges, pid: Numbers, ts: Numbers) -> Numbers:
    """Return for each moment of a process the range that it is in, or -1."""
    out = np.full(len(ts), -1)
    if not len(ranges.pid):
        return out
    # Both are by process; within one, ranges of one kind follow each other.
    for number in np.unique(pid):
        own = slice(*np.searchsorted(ranges.pid, [number, number + 1]))
        moments = slice(*np.searchsorted(pid, [number, number + 1]))
        if own.start == own.stop:
            continue
        at = (
            np.searchsorted(ranges.begin[own], ts[moments], side="right")
            - 1
            + own.start
        )
        known = at >= own.start
        at = np.maximum(at, own.start)
        out[moments] = np.where(known & (ts[moments] <= ranges.end[at]), at, -1)
    return out


def _tensors(
    trace: _core.Trace, negotiations: _Ranges, rest: _Ranges, ticks: _Ticks
) -> list[HorovodTensor]:
    """Return what is told of each tensor, the longest negotiations first."""
    called = _names_of(trace)
    names = trace.strings
    tensors = []
    for pid in np.unique(np.concatenate([negotiations.pid, rest.pid])):
        first, last = np.searchsorted(negotiations.pid, [pid, pid + 1])
        own = slice(int(first), int(last))
        mine = slice(*np.searchsorted(ticks.at, [first, last]))
        came_last = ticks.rank[mine][ticks.is_last[mine]]
        done = slice(*np.searchsorted(rest.pid, [pid, pid + 1]))
        lengths = (rest.end - rest.begin)[done] / 1000
        outer = rest.depth[done] == 1
        activities: dict[str, float] = {}
        inner = np.bincount(rest.name[done][~outer], lengths[~outer])
        for name in np.flatnonzero(inner):
            activities[names[name]] = float(inner[name])
        transfers = (n for n in activities if n.startswith(_TRANSFERS))
        kinds = Counter(
            names[n].removeprefix(_NEGOTIATE) for n in negotiations.name[own]
        )
        kinds.update(names[n] for n in rest.name[done][outer] if not kinds)
        tensors.append(
            HorovodTensor(
                printable(called.get(int(pid), str(trace.identity(int(pid))))),
                printable(kinds.most_common(1)[0][0]) if kinds else "",
                own.stop - own.start,
                int(np.count_nonzero(ticks.named[own])),
                float((negotiations.end - negotiations.begin)[own].sum()) / 1000,
                float(ticks.wait[own].sum()) / 1000,
                dict(Counter(map(int, came_last)).most_common()),
                float(lengths[outer].sum()),
                sum((activities[name] for name in transfers), 0.0),
                dict(sorted(activities.items(), key=lambda a: -a[1])),
            )
        )
    return sorted(tensors, key=lambda t: (-t.negotiation_us, -t.operation_us, t.name))


def _names_of(trace: _core.Trace) -> dict[int, str]:
    columns = trace.columns
    names = trace.strings
    if "process_name" not in names:
        return {}
    named = columns["name"] == names.index("process_name")
    rows = np.flatnonzero((columns["phase"] == b"M") & named)
    out = {}
    for row, args in zip(rows, trace.read_args(rows.tolist()), strict=True):
        name = json.loads(args or "{}").get("name")
        if isinstance(name, str):
            out[int(columns["pid"][row])] = name
    return out
