# SPDX-License-Identifier: BSD-3-Clause
"""observed.py: times of a CUDA trace: of the host, of launches, of kernels.

Read in the same way from real and from simulated traces, so that they can be compared.
All in microseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import torchtraceap
from benchmarks.lab.corpus.simulation.operator_rows import operator_class

_LAUNCHES = ("LaunchKernel", "LaunchCooperative")
_SYNCS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
# Polls are those of watchdogs on threads of their own.
_NO_OTHERS = (*_SYNCS, "cudaMemcpy", "cudaGraph", "cuMem", "cuModule", "cuLibrary",
              "cudaEventQuery", "INVALID")  # fmt: skip
_LONGEST_BETWEEN_US = 200.0  # Longer is more than a pause between two operators.
_QUEUED_US = 15.0  # Launched so long before its turn, a kernel waited for nothing else.

Samples = dict[str, list[float]]


@dataclass
class Row:
    """A complete event."""

    begin: float
    end: float
    name: str
    category: str
    inside: float = 0.0  #: What rows directly inside it take.
    launches: int = 0  #: Calls directly inside it that launch work.
    operators: int = 0  #: Operators directly inside it.


@dataclass
class Observed:
    """Samples by what they are of; see ranges.py for the names."""

    samples: Samples = field(default_factory=lambda: defaultdict(list))
    kernels: int = 0
    busy: float = 0.0  #: Share of the time from first to last work in which one ran.
    others: Counter[str] = field(default_factory=Counter)  #: Calls of no other sample.

    def add(self, name: str, value: float) -> None:
        self.samples[name].append(value)


def observe(path: Path) -> Observed:
    """Read a trace.

    Raises:
        torchtraceap.TraceError: It is none.
    """
    trace = torchtraceap.load(path)
    found = Observed()
    lanes, calls, work = _rows(trace)
    for rows in lanes.values():
        _host(rows, found)
    _device(calls, work, found)
    return found


def _rows(trace: torchtraceap.Trace) -> tuple[dict, dict, dict]:
    """Return host rows by thread, calls by correlation, device work by stream."""
    c = trace.columns
    names, categories = trace.strings, trace.category_names
    lanes: dict = defaultdict(list)
    calls: dict = {}
    work: dict = defaultdict(list)
    columns = (c["phase"], c["category"], c["name"], c["ts"], c["dur"])
    several = (c["pid"], c["tid"], c["correlation"])
    for phase, cat, name, ts, dur, pid, tid, number in zip(
        *(column.tolist() for column in (*columns, *several)), strict=True
    ):
        if phase != b"X" or dur < 0:
            continue
        kind = categories[cat]
        row = Row(ts / 1000, (ts + dur) / 1000, names[name], kind)
        if kind in ("cpu_op", "cuda_runtime", "cuda_driver", "python_function"):
            lanes[pid, tid].append(row)
            if kind.startswith("cuda_"):
                calls[number] = row
        elif kind in ("kernel", "gpu_memcpy", "gpu_memset"):
            work[pid, tid].append((row, number))
    return lanes, calls, work


def _host(rows: list[Row], found: Observed) -> None:
    rows.sort(key=lambda row: (row.begin, -row.end))
    has_frames = any(row.category == "python_function" for row in rows)
    rows = [row for row in rows if row.category != "python_function"]
    open_rows: list[Row] = []
    last: Row | None = None
    for row in rows:
        while open_rows and row.begin >= open_rows[-1].end - 0.0005:
            _closed(open_rows.pop(), found)
        if open_rows:
            around = open_rows[-1]
            around.inside += row.end - row.begin
            if row.category == "cpu_op":
                around.operators += 1
            elif any(part in row.name for part in (*_LAUNCHES, "Async")):
                around.launches += 1
        elif row.category == "cpu_op":
            if last is not None and row.begin - last.end < _LONGEST_BETWEEN_US:
                autograd = last.name.startswith("autograd::")
                kind = "backward" if autograd else "frames" if has_frames else "plain"
                found.add(f"between {kind}", max(0.0, row.begin - last.end))
            last = row
        open_rows.append(row)
    for row in open_rows:
        _closed(row, found)


def _closed(row: Row, found: Observed) -> None:
    took = row.end - row.begin
    if row.category != "cpu_op":
        return _called(row, took, found)
    own = max(0.0, took - row.inside)
    if row.name.startswith(("autograd::", "torch::autograd")) or "::" not in row.name:
        found.add("own node", own)
    elif row.operators:
        found.add("own outer", own)
    elif row.launches:
        found.add(f"own {operator_class(row.name)}", own / row.launches)
    else:
        found.add("own light", own)


def _called(row: Row, took: float, found: Observed) -> None:
    if any(part in row.name for part in _LAUNCHES):
        found.add("call launch", took)
    elif "MemsetAsync" in row.name:
        found.add("call memset", took)
    elif row.name.startswith(("cudaMalloc", "cudaFree")):
        found.add("call " + row.name, took)
    elif row.name.startswith(("cudaEventRecord", "cudaStreamWaitEvent")):
        found.add("call event", took)
    elif not row.name.startswith(_NO_OTHERS):
        found.add("call other", took)
        found.others[row.name] += 1


def _device(calls: dict, work: dict, found: Observed) -> None:
    ends: list[float] = []
    for rows in work.values():
        rows.sort(key=lambda item: item[0].begin)
        before = None
        for row, number in rows:
            launch = calls.get(number)
            if launch is not None and "Graph" in launch.name:
                # Nothing simulated is replayed by a graph: its gaps are another kind.
                before = row.end
                ends.append(row.end)
                continue
            if row.category == "kernel":
                found.kernels += 1
                if "nccl" not in row.name.lower():
                    found.add("kernel", row.end - row.begin)
            if before is not None:
                gap = max(0.0, row.begin - before)
                found.add("gap", gap)
            if launch is not None:
                delay = row.begin - launch.begin
                found.add("delay", max(0.0, delay))
                if before is None or before < launch.begin:
                    if delay < 100:
                        found.add("latency", max(0.0, delay))
                        found.add("latency end", max(0.0, row.begin - launch.end))
                        if row.category != "kernel" and delay > 0:
                            found.add("latency copy", delay)
                elif launch.begin < before - _QUEUED_US and row.begin - before < 30:
                    found.add("queued gap", row.begin - before)
            before = row.end if before is None else max(before, row.end)
            ends.append(row.end)
    found.busy = _busy([row for rows in work.values() for row, _ in rows])
    _returns(calls, np.sort(ends), found)


def _busy(rows: list[Row]) -> float:
    if not rows:
        return 0.0
    rows = sorted(rows, key=lambda row: row.begin)
    covered, last = 0.0, rows[0].begin
    for row in rows:
        covered += max(0.0, row.end - max(row.begin, last))
        last = max(last, row.end)
    return covered / max(last - rows[0].begin, 1e-9)


def _returns(calls: dict, ends: np.ndarray, found: Observed) -> None:
    for row in _syncs(calls):
        at = int(np.searchsorted(ends, row.end, "right")) - 1
        if at >= 0 and ends[at] > row.begin:
            found.add("sync back", row.end - ends[at])
        elif at >= 0:
            found.add("sync idle", row.end - row.begin)


def _syncs(calls: dict) -> Iterator[Row]:
    return (row for row in calls.values() if row.name.startswith(_SYNCS))
