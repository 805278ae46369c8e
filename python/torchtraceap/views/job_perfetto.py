# SPDX-License-Identifier: BSD-3-Clause
"""job_perfetto.py: the traces of all ranks as one, for Perfetto.

On the common clock, with a process of its own for the job: a row for each rank with its
collectives, what it waited in them for whom, and arrows from who was late.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from torchtraceap._core import RankRow
from torchtraceap.base.safe_text import printable
from torchtraceap.data.job import JobData
from torchtraceap.report_data import ReportData
from torchtraceap.views.job_drawing import DrawnCollective, drawing_of, shown_causes
from torchtraceap.views.perfetto import plain_copy

_JOB_PID = 1
# The first pid of a rank is the next multiple of this: rank 3 has 4000, 4001, ...
_PIDS = 1_000
_IDS = 1 << 32  # Of one rank, as other mergers have it.
# Members that describe the first rank's file and not the others.
_OWN = ("distributedInfo", "traceName", "trace_id", "host_name")
_OF_THE_JOB = ("backend", "world_size", "nccl_version")


def write_job_perfetto(
    job: JobData,
    ranks: Iterable[tuple[RankRow, ReportData]],
    path: str | os.PathLike[str],
) -> None:
    """Write the file; see ``JobReport.to_perfetto``. ``ranks``: each with its report,
    of which one at a time is held."""
    with plain_copy(path, (row.path for row in job.ranks)) as plain:
        _write_plain(job, ranks, plain)


def _write_plain(
    job: JobData, ranks: Iterable[tuple[RankRow, ReportData]], plain: str
) -> None:
    zero_ns, pid = 0, _PIDS
    for place, (row, report) in enumerate(ranks):
        if place == 0:
            zero_ns = _zero_ns(row, report)  # Times stay those of the first rank.
            with open(plain, "w", encoding="utf-8", newline="\n") as file:
                file.write("{" + "".join(_metadata(job, report)))
                file.write('"traceEvents": [\n')
                file.write(",\n".join(_JobRows(job, zero_ns).texts()))
        pid = report.core.append_rank(
            plain,
            f"rank {row.rank}",
            first_pid=pid,
            ids=place * _IDS,
            shift_ns=zero_ns - _zero_ns(row, report),
        )
        pid = -(-pid // _PIDS) * _PIDS
        del report  # Before the next is made.
    with open(plain, "a", encoding="utf-8") as file:
        file.write("\n]}\n")


def _zero_ns(row: RankRow, report: ReportData) -> int:
    """Return when the job began, by the clock of a rank's trace."""
    return report.trace.start_ns - _ns(row.begin_us)


def _ns(us: float) -> int:
    return round(us * 1000)


def _metadata(job: JobData, first: ReportData) -> Iterator[str]:
    own = first.loaded.metadata
    hosts = {row.host for row in job.ranks}
    for key, text in own.items():
        if key not in _OWN or (key == "host_name" and len(hosts) == 1):
            yield f"{json.dumps(key)}: {text},\n"
    try:
        info = json.loads(own.get("distributedInfo", "{}"))
    except ValueError:
        info = {}
    shared = {k: info[k] for k in _OF_THE_JOB if k in info} if info else {}
    yield f'"distributedInfo": {json.dumps(shared)},\n'


class _JobRows:
    """The rows of the job's own process. They have no category, so that a reader of
    traces takes them for none of the program's."""

    def __init__(self, job: JobData, zero_ns: int) -> None:
        self._job, self._zero_ns = job, zero_ns
        self._order = {row.rank: place for place, row in enumerate(job.ranks)}
        self._lanes: dict[int, list[float]] = {}  # Where each ends, by rank.
        self._tids: dict[tuple[int, int], int] = {}
        # No rank's ids reach up there.
        self._arrow = (len(job.ranks) + 1) * _IDS

    def texts(self) -> Iterator[str]:
        """Yield the rows as JSON."""
        yield self._named("process_name", 0, name="the job: who waited for whom")
        yield self._named("process_sort_index", 0, sort_index=-1)
        drawing = drawing_of(self._job)
        if drawing.left_out:
            left = f"without the {drawing.left_out:,} shortest collectives"
            yield self._named("process_labels", 0, labels=left)
        for drawn in drawing.collectives:
            yield from self._collective(drawn)
        for (rank, lane), tid in self._tids.items():
            name = f"rank {rank}" + (f" ({lane + 1})" if lane else "")
            order = self._order[rank] * _PIDS + lane
            yield self._named("thread_name", tid, name=name)
            yield self._named("thread_sort_index", tid, sort_index=order)

    def _collective(self, drawn: DrawnCollective) -> Iterator[str]:
        collective, last = drawn.collective, drawn.last
        why = [text for text, _ in shown_causes(self._job, drawn)]
        why = why or [f"rank {collective.last}"]
        args = {
            "group": printable(collective.group),
            "number": collective.sequence,
            "step": collective.step,
            "bytes": collective.bytes,
            "transfer_us": collective.transfer_us,
            "wait_us": collective.wait_us,
            "last": f"rank {collective.last}",
            "because of": "; ".join(why[:5]),
        }
        from_tid, moment = None, _ns(last.begin_us) - 1  # Just within both slices.
        if drawn.late_us > 0:
            begin_us = last.begin_us - drawn.late_us
            from_tid = self._tid(collective.last, begin_us, last.begin_us)
            end_us = last.begin_us
            name = f"late: {why[0]}"
            yield self._slice(from_tid, name, begin_us, end_us, args)
        for arrival in collective.arrivals:
            begin_us, end_us = arrival.begin_us, arrival.end_us
            tid = self._tid(arrival.rank, begin_us, end_us)
            yield self._slice(tid, drawn.title, begin_us, end_us, args)
            if arrival.wait_us <= 0:
                continue
            waits = f"waits for {why[0]}"
            yield self._slice(tid, waits, begin_us, begin_us + arrival.wait_us, {})
            if from_tid is None or moment < _ns(begin_us):
                continue
            self._arrow += 1
            id_ = f', "id": {self._arrow}'
            yield self._row("s", "late", from_tid, moment, id_)
            yield self._row("f", "late", tid, moment, f'{id_}, "bp": "e"')

    def _tid(self, rank: int, begin_us: float, end_us: float) -> int:
        """Return a row of a rank on which nothing is yet at that time."""
        lanes = self._lanes.setdefault(rank, [])
        free = (i for i, taken in enumerate(lanes) if taken <= begin_us)
        lane = next(free, len(lanes))
        lanes[lane : lane + 1] = [end_us]
        return self._tids.setdefault((rank, lane), len(self._tids) + 1)

    def _named(self, what: str, tid: int, **args: object) -> str:
        row = {"ph": "M", "name": what, "pid": _JOB_PID, "tid": tid, "args": args}
        return json.dumps(row)

    def _slice(
        self, tid: int, name: str, begin_us: float, end_us: float, args: dict[str, Any]
    ) -> str:
        known = {key: value for key, value in args.items() if value not in (None, "")}
        begin, end = _ns(begin_us), _ns(end_us)
        more = f', "dur": {_exact(max(0, end - begin))}, "args": {json.dumps(known)}'
        return self._row("X", name, tid, begin, more)

    def _row(self, phase: str, name: str, tid: int, at_ns: int, more: str) -> str:
        return (
            f'{{"ph": "{phase}", "name": {json.dumps(name)}, "pid": {_JOB_PID}, '
            f'"tid": {tid}, "ts": {_exact(self._zero_ns + at_ns)}{more}}}'
        )


def _exact(ns: int) -> str:
    """Write microseconds; as floats, those of today would not be exact."""
    whole, rest = divmod(abs(ns), 1000)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:03}"
