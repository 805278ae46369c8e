# SPDX-License-Identifier: BSD-3-Clause
"""steps.py: the recorded steps, with a simulated device, as events that can repeat.

A recording of torch on a CPU has no device side. As on a GPU, every operator that
computes gets a launch inside it, a kernel or copy on one stream, and the arrow between
them; their times come from a seeded generator. Numbers that differ from one repetition
to the next are `Repeating`, and grow by a fixed amount each time.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded.json.gz")
Event = dict[str, Any]
LAUNCH_NS = 4_000  # from a launch to the start of its kernel on an idle stream
SEED = 7
# Operators that only make or look at tensors; they launch nothing.
IDLE = {
    "aten::_local_scalar_dense",
    "aten::as_strided",
    "aten::as_strided_",
    "aten::detach",
    "aten::empty",
    "aten::empty_strided",
    "aten::expand",
    "aten::permute",
    "aten::resize_",
    "aten::resolve_conj",
    "aten::select",
    "aten::squeeze",
    "aten::t",
    "aten::transpose",
    "aten::unsqueeze",
    "aten::view",
}
GEMM = "ampere_sgemm_32x32_sliced1x4_{}"
ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{}_kernel_cuda"
    "(at::TensorIteratorBase&)::{{lambda()#1}}::operator()() const::{{lambda(float)#1}}"
    ", std::array<char*, 2ul>>(int, at::native::{}_kernel_cuda(at::TensorIteratorBase&)"
    "::{{lambda()#1}}::operator()() const::{{lambda(float)#1}}, std::array<char*, 2ul>)"
)


@dataclass(frozen=True)
class Repeating:
    """A number, ``base + step * repetition``, between two texts."""

    base: int
    step: int
    tail: str = ""
    head: str = ""


@dataclass
class Steps:
    """What precedes the repetitions, what repeats, what follows, and how far apart."""

    metadata: dict[str, Any]
    head: list[Event]
    body: list[Event]
    tail: list[Event]
    period_ns: int


def ns_of(us: float) -> int:
    """Return nanoseconds; exact for what Kineto writes, three decimals below 2^52."""
    return round(us * 1000)


def read_steps(recording: Path) -> Steps:
    """Read the recording and add the device."""
    document = json.loads(gzip.decompress(recording.read_bytes()))
    events: list[Event] = document.pop("traceEvents")
    placed = [e for e in events if e["ph"] in "Xsf" and e["cat"] != "Trace"]
    others = [e for e in events if e["ph"] not in "Xsf" or e["cat"] == "Trace"]
    device, end_ns = simulate(placed, random.Random(SEED))
    begin_ns = min(ns_of(e["ts"]) for e in placed)
    # A multiple of 1 us: repetitions then differ in the microseconds alone.
    period_ns = -(-(end_ns - begin_ns + 50_000) // 1000) * 1000
    document["deviceProperties"] = [
        {"id": 0, "name": "simulated", "computeMajor": 8, "computeMinor": 0}
    ]
    document["simulated"] = "device 0: its launches, kernels, copies and ac2g arrows"
    marks = [e for e in others if e["ph"] == "M"]
    ends = [e for e in others if e["ph"] != "M"]
    body = placed + device
    repeat(body, period_ns)
    return Steps(document, marks, body, ends, period_ns)


def simulate(placed: list[Event], rng: random.Random) -> tuple[list[Event], int]:
    """Return the device's events and the last end of anything, in nanoseconds."""
    operators = [e for e in placed if e.get("cat") == "cpu_op"]
    out: list[Event] = []
    free_ns = end_ns = 0
    for correlation, op in enumerate(filter(computes, leaves(operators)), 1):
        begin, length = ns_of(op["ts"]), ns_of(op["dur"])
        launch = {"ts": begin + length // 4, "dur": length // 2}
        start = max(launch["ts"] + launch["dur"] + LAUNCH_NS, free_ns + 900)
        work = {"ts": start, "dur": rng.randrange(1_200, 9_000)}
        free_ns = work["ts"] + work["dur"]
        end_ns = max(end_ns, free_ns, begin + length)
        out += launch_events(op, correlation, launch, work)
    return out, end_ns


def leaves(operators: list[Event]) -> Iterator[Event]:
    """Yield the operators of one thread without another inside; they are in order."""
    ordered = sorted(operators, key=lambda e: (e["ts"], -e["dur"]))
    for op, following in zip(ordered, [*ordered[1:], None], strict=True):
        if following is None or following["ts"] >= op["ts"] + op["dur"]:
            yield op


def computes(op: Event) -> bool:
    """Tell whether an operator works on tensors that would be on the device."""
    name = op["name"]
    sizes = op["args"].get("Input Dims", [])
    return name.startswith("aten::") and name not in IDLE and any(sizes)


def launch_events(
    op: Event, correlation: int, launch: dict[str, int], work: dict[str, int]
) -> Iterator[Event]:
    """Yield kernel, arrow, launch and arrow, in the order in which Kineto writes."""
    external = op["args"]["External id"]
    copies = op["name"] == "aten::copy_"
    host = {"pid": op["pid"], "tid": op["tid"]}
    stream = {"pid": 0, "tid": 7}
    arrow = {"cat": "ac2g", "name": "ac2g"}
    where = {"device": 0, "context": 1, "stream": 7, "correlation": correlation}

    def event(cat: str, name: str, place: Event, time: Event, args: Event) -> Event:
        begin = {"ts": time["ts"] / 1000, "dur": time["dur"] / 1000}
        args = {"External id": external, **args}
        return {"ph": "X", "cat": cat, "name": name, **place, **begin, "args": args}

    if copies:
        size = 4 * correlation
        rate = {"bytes": size, "memory bandwidth (GB/s)": size / work["dur"]}
        name = "Memcpy DtoD (Device -> Device)"
        yield event("gpu_memcpy", name, stream, work, {**where, **rate})
    else:
        yield event(
            "kernel", kernel_name(op), stream, work, {"queued": 0, **where, **GRID}
        )
    at_work = {"ts": work["ts"] / 1000}
    yield {"ph": "f", "id": correlation, **stream, **at_work, **arrow, "bp": "e"}
    call, cbid = ("cudaMemcpyAsync", 41) if copies else ("cudaLaunchKernel", 211)
    args = {"cbid": cbid, "correlation": correlation}
    yield event("cuda_runtime", call, host, launch, args)
    yield {"ph": "s", "id": correlation, **host, "ts": launch["ts"] / 1000, **arrow}


GRID = {
    "registers per thread": 32,
    "shared memory": 0,
    "blocks per SM": 0.592593,
    "warps per SM": 2.37037,
    "grid": [64, 1, 1],
    "block": [128, 1, 1],
    "est. achieved occupancy %": 4,
}


def kernel_name(op: Event) -> str:
    """Return a name such as the device's libraries give."""
    short = op["name"].removeprefix("aten::").strip("_")
    if short in {"mm", "addmm", "bmm"}:
        return GEMM.format("tn" if op["args"]["Ev Idx"] % 2 else "nn")
    return ELEMENTWISE.format(short, short)


def repeat(events: list[Event], period_ns: int) -> None:
    """Replace what differs between repetitions: times, ids, numbers of steps."""
    steps = sum(e["name"].startswith("ProfilerStep#") for e in events)
    ids = 1 + max(e["args"]["External id"] for e in events if "args" in e)
    launches = 1 + max(e["id"] for e in events if e.get("cat") == "ac2g")
    arrows = 1 + max(e["id"] for e in events if e.get("cat") == "fwdbwd")
    sequence = [e["args"].get("Sequence number", 0) for e in events if "args" in e]
    strides: dict[str, int] = {
        "External id": ids,
        "Ev Idx": ids,
        "Sequence number": 1 + max(sequence) - min(s for s in sequence if s > 0),
        "correlation": launches,
    }
    for event in events:
        ns = ns_of(event["ts"])
        event["ts"] = Repeating(ns // 1000, period_ns // 1000, f".{ns % 1000:03d}")
        if event["ph"] != "X":
            step = launches if event["cat"] == "ac2g" else arrows
            event["id"] = Repeating(event["id"], step)
        elif event["name"].startswith("ProfilerStep#"):
            number = int(event["name"].partition("#")[2])
            event["name"] = Repeating(number, steps, '"', '"ProfilerStep#')
        args = event.get("args", {})
        for key in args.keys() & strides.keys():
            args[key] = Repeating(args[key], strides[key])
