# SPDX-License-Identifier: BSD-3-Clause
"""chrome_trace.py: a schedule as torch.profiler writes it.

Rows are as in public traces of the same devices: ids that tie operators, calls and
kernels, flows, Python frames with their parents, what a device's rows tell about grids,
bytes and collectives.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from benchmarks.lab.blame.gpus import Gpu
from benchmarks.lab.blame.instructions import Call, Close, Open, Program, Work
from benchmarks.lab.blame.scheduling import Schedule

Row = dict[str, Any]

PID = 4100
_BEGIN_NS = 1_419_116_104_507_840
_OLD = {"cpu_op": "Operator", "user_annotation": "Operator", "kernel": "Kernel",
        "cuda_runtime": "Runtime", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset",
        "ac2g": "async"}  # fmt: skip
_NOT_OLD = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype",
            "Record function id", "Ev Idx")  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """What of a run is recorded, and by which version."""

    stack: bool = False
    shapes: bool = False
    syncs: bool = False  #: Rows of CUPTI for waits.
    shadows: bool = False  #: Ranges on the device, of the work launched in them.
    old: bool = False  #: As in 2021: whole microseconds, other categories.


def make_old(row: Row) -> None:
    row["cat"] = _OLD.get(row.get("cat", ""), row.get("cat", ""))
    end = row["ts"] + row.get("dur", 0.0)
    row["ts"] = int(row["ts"])
    if "dur" in row:
        row["dur"] = int(end) - row["ts"]
    args = row.get("args", {})
    for name in (*_NOT_OLD, *(name for name in args if name.startswith("Process"))):
        args.pop(name, None)
    if row["cat"] != "Operator" and "External id" in args:
        args["external id"] = args.pop("External id")


def row_of(category: str, name: str, tid: Any, begin: float, pid: Any = PID) -> Row:
    where = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
    return where | {"ts": moment(begin), "dur": 0.0}


def flow(phase: str, number: int, pid: int, tid: int, ts: float) -> Row:
    ends = {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": ts}
    return ends | {"cat": "ac2g", "name": "ac2g"}


def moment(us: float) -> float:
    """A moment as a recording has it: whole nanoseconds, long after some epoch."""
    return (_BEGIN_NS + round(us * 1000)) / 1000


def kernel_facts(args: Row, gpu: Gpu) -> Row:
    """The facts about a kernel in a recording; on AMD only its grid."""
    grid, block = args["grid"], args["block"]
    if gpu.amd:
        return {"kind": "Dispatch Kernel", "grid": grid, "block": block}
    blocks = grid[0] / gpu.sms
    warps = blocks * block[0] / 32
    return {
        "queued": 0,
        "blocks per SM": round(blocks, 6),
        "warps per SM": round(warps, 6),
        **args,
    }


def device_facts(gpu: Gpu) -> Row:
    return {
        "id": 0,
        "name": gpu.name,
        "totalGlobalMem": 85 * 10**9,
        "computeMajor": gpu.capability[0],
        "computeMinor": gpu.capability[1],
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": gpu.threads,
        "regsPerBlock": 65536,
        "regsPerMultiprocessor": 65536,
        "warpSize": 64 if gpu.amd else 32,
        "sharedMemPerBlock": 49152,
        "sharedMemPerMultiprocessor": gpu.shared,
        "numSms": gpu.sms,
    }


def names(program: Program) -> list[Row]:
    names = [("process_name", PID, 0, {"name": "python3"}),
             ("process_labels", PID, 0, {"labels": "CPU"}),
             ("process_name", 0, 0, {"name": "python3"}),
             ("process_labels", 0, 0, {"labels": "GPU 0"})]  # fmt: skip
    names += [
        ("thread_name", PID, tid, {"name": f"thread {tid} (python3)"})
        for tid in program.threads
    ]
    return [
        {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": moment(0), "args": args}
        for kind, pid, tid, args in names
    ]


_CBID = {"LaunchKernel": 211, "MemcpyAsync": 41, "StreamSynchronize": 131,
         "DeviceSynchronize": 165, "EventRecord": 135, "StreamWaitEvent": 147,
         "MemsetAsync": 51, "Malloc": 20, "Free": 22}  # fmt: skip


class _Writer:
    def __init__(self, program: Program, recording: Recording) -> None:
        self.program = program
        self.recording = recording
        self.rows: list[Row] = []
        self.external = 0
        self.frames = 0
        self.correlation = 50_000
        #: Of each work: correlation and External id, and the ranges it is launched in.
        self.ties: dict[int, tuple[int, int]] = {}
        self.within: dict[int, list[Row]] = {}
        self.shadows: dict[tuple[int, tuple[int, int]], Row] = {}
        self.records: dict[str, tuple[int, int]] = {}  #: Correlation and stream.

    def thread(self, tid: int, times: list[tuple[float, float]]) -> None:
        ranges: list[tuple[Row, int]] = []  # Open ones, with their ids.
        frames: list[tuple[Row, int]] = []
        order: list[list[tuple[Row, int]]] = []
        for it, (begin, end) in zip(self.program.threads[tid], times, strict=True):
            if isinstance(it, Open):
                row = row_of(it.category, it.name, tid, begin)
                here = frames if it.category == "python_function" else ranges
                row["args"], number = self._ids(it, frames)
                here.append((row, number))
                order.append(here)
                self.rows.append(row)
            elif isinstance(it, Close):
                row, _ = order.pop().pop()
                row["dur"] = moment(end) - row["ts"]
            elif isinstance(it, Call) and it.name != "hipEventRecord":
                # ROCm's recordings leave events out.
                self._call(it, tid, begin, end, ranges)

    def _ids(self, it: Open, frames: list[tuple[Row, int]]) -> tuple[Row, int]:
        if it.category == "python_function":
            self.frames += 1
            parent = frames[-1][1] if frames else None
            ids = {"Python parent id": parent, "Python id": self.frames}
            return {**ids, "Ev Idx": self.frames + 100_000}, self.frames
        self.external += 1
        about = {"External id": self.external, "Record function id": 0}
        comms = it.name == "record_param_comms"
        told = it.args if self.recording.shapes or comms else {}
        return {**about, **told, "Ev Idx": self.external - 1}, self.external

    def _call(
        self,
        it: Call,
        tid: int,
        begin: float,
        end: float,
        ranges: list[tuple[Row, int]],
    ) -> None:
        owner = ranges[-1][1] if ranges else 0
        self.correlation += 1
        number = self.correlation
        row = row_of("cuda_runtime", it.name, tid, begin)
        row["dur"] = moment(end) - row["ts"]
        cbid = next((n for name, n in _CBID.items() if it.name.endswith(name)), 0)
        row["args"] = {"External id": owner} if owner else {}
        row["args"] |= {"cbid": cbid, "correlation": number}
        self.rows.append(row)
        for work in it.works:
            self.ties[id(work)] = number, owner
            self.rows.append(flow("s", number, PID, tid, row["ts"]))
            self.within[id(work)] = [
                r for r, _ in ranges if r["cat"] == "user_annotation"
            ]
        if it.records:
            self.records[it.records] = number, it.on[1]
        if self.recording.syncs:
            self._wait(it, row)

    def _wait(self, it: Call, call: Row) -> None:
        """CUPTI's row of a wait beside its call."""
        args = {"correlation": call["args"]["correlation"], "device": 0, "context": 1}
        stream, begin, dur = -1, call["ts"], call["dur"]
        if it.gates:
            kind, stream = "Stream Wait Event", it.on[1]
            recorded, of = self.records[it.gates]
            args |= {
                "wait_on_stream": of,
                "wait_on_cuda_event_record_corr_id": recorded,
                "wait_on_cuda_event_id": recorded,
            }
        elif it.waits is None or it.waits == "work" or it.name.endswith("Free"):
            return
        elif it.waits[0] == "device":
            kind = "Context Sync"
        elif it.waits[0] == "event":
            kind, recorded = "Event Sync", self.records[it.waits[1]][0]
            args["wait_on_cuda_event_record_corr_id"] = recorded
        else:
            kind, stream = "Stream Sync", it.waits[1]
        row = row_of("cuda_sync", kind, stream, 0, 0)
        row |= {"ts": round(begin + 0.4, 3), "dur": dur - 0.5}
        row["args"] = {"cuda_sync_kind": kind, "stream": stream} | args
        self.rows.append(row)

    def work(self, work: Work, begin: float, end: float) -> None:
        number, owner = self.ties[id(work)]
        device, stream = work.stream
        row = row_of(work.kind, work.name, stream, begin, device)
        row["dur"] = moment(end) - row["ts"]
        where = {
            "device": device,
            "context": 1,
            "stream": stream,
            "correlation": number,
        }
        args: Row = {"External id": owner} if owner else {}
        args |= where
        if work.kind == "kernel":
            args |= kernel_facts(work.args, self.program.gpu)
        else:
            args |= work.args
            args["memory bandwidth (GB/s)"] = (
                work.args["bytes"] / max(row["dur"], 0.1) / 1e3
            )
        row["args"] = args
        self.rows += [row, flow("f", number, device, stream, row["ts"]) | {"bp": "e"}]
        if self.recording.shadows:
            self._shadow(work, row)

    def _shadow(self, work: Work, row: Row) -> None:
        for cause in self.within[id(work)]:
            key = id(cause), work.stream
            own = self.shadows.get(key)
            if own is None:
                device, stream = work.stream
                own = row_of("gpu_user_annotation", cause["name"], stream, 0, device)
                own |= {"ts": row["ts"]}
                own["args"] = {"External id": cause["args"]["External id"]}
                self.shadows[key] = own
                self.rows.append(own)
            own["dur"] = row["ts"] + row["dur"] - own["ts"]


def trace_text(program: Program, schedule: Schedule, recording: Recording) -> bytes:
    """Return the trace of a schedule."""
    writer = _Writer(program, recording)
    for tid, times in schedule.host.items():
        writer.thread(tid, times)
    for work, begin, end in schedule.device:
        writer.work(work, begin, end)
    head = {
        "schemaVersion": 1,
        "deviceProperties": [device_facts(program.gpu)],
        "record_shapes": int(recording.shapes),
        "with_stack": int(recording.stack),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1751410836000000000,
    }
    if program.world > 1:
        head["distributedInfo"] = {
            "backend": "nccl", "rank": 0, "world_size": program.world,
        }  # fmt: skip
    rows = [*writer.rows, *names(program)]
    span = row_of("Trace", "PyTorch Profiler (0)", "PyTorch Profiler", 0, "Spans")
    rows.append(
        span | {"dur": moment(schedule.span) - span["ts"], "args": {"Op count": 0}}
    )
    for row in rows:
        if "dur" in row:
            row["dur"] = round(row["dur"], 3)
        if recording.old:
            make_old(row)
    return json.dumps(head | {"traceEvents": rows}).encode()
