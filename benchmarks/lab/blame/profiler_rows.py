# SPDX-License-Identifier: BSD-3-Clause
"""profiler_rows.py: the rows that a recording consists of, and what they tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.lab.blame.gpus import Gpu
from benchmarks.lab.blame.instructions import Program

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
    """What a recording tells of a kernel; on AMD only its grid."""
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
