# SPDX-License-Identifier: BSD-3-Clause
"""raw.py: a trace's device work from its JSON, by our rules and step by step by HTA's.

Shares no code with the core: Python's json, integers, NumPy. HTA's rules (version
0.5.0) are applied one after the other, and the effect of each is measured: a
difference is explained when nothing is left after the last.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loader.figures import DEVICE_WORK, exact_ns

# MTIA's work. Waits of its streams are recorded beside it and do not count as work.
MTIA, MTIA_WAITS = "mtia_ccp_events", {"event_wait", "event_record"}
MTIA_COPY = "dma_request"
MEMORY = {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}
OUR_COMMUNICATION = re.compile(
    r"^(nccl|rccl|mscclpp|oneCCL|oneccl)|cross_device_reduce|multimem_all_reduce"
    r"|one_shot_all_reduce|two_shot_all_reduce"
)
HTA_COMMUNICATION = re.compile(r"^nccl.*Kernel")
HTA_MEMORY = re.compile(r"(^Memcpy)|(^Memset)|(^dma)")
HTA_NO_COMPUTE = re.compile(r"(^nccl.*Kernel)|(.*(Memcpy)|(Memset))|(.*Sync)")
SYNCS = {"Event Sync", "Context Sync"}
TYPES = ("compute", "communication", "memory")


@dataclass
class Row:
    """One event with a duration and a category."""

    cat: str
    name: str
    ts: Any  # text of a number with a point, or an int
    dur: Any
    stream: int  # -1 where HTA finds none
    correlation: int

    @property
    def works(self) -> bool:
        """Tell whether it is device work to us."""
        if self.cat == MTIA:
            return self.name not in MTIA_WAITS
        return self.cat in DEVICE_WORK


def number(value: Any) -> int:
    """Return an integer as HTA does: what is none is -1."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return -1


@functools.lru_cache(maxsize=1)
def read(path: Path) -> tuple[list[Row], bool]:
    """Return all rows HTA keeps, and whether it takes the starts for floats."""
    text = path.read_bytes()
    if text[:2] == b"\x1f\x8b":
        text = gzip.decompress(text)
    document = json.loads(text, parse_float=str)
    events = document if isinstance(document, list) else document["traceEvents"]
    rows = []
    for e in events:
        if e.get("dur") is None or e.get("cat") is None or e["cat"] == "Trace":
            continue
        args = e.get("args")
        args = args if isinstance(args, dict) else {}
        rows.append(
            Row(
                *(e["cat"], e.get("name", ""), e["ts"], e["dur"]),
                *(number(args.get(key, -1)) for key in ("stream", "correlation")),
            )
        )
    return rows, any(not isinstance(e.get("ts"), int) for e in events)


def our_type(row: Row) -> str:
    """Return what a row is to us."""
    if row.cat in MEMORY or (row.cat == MTIA and row.name == MTIA_COPY):
        return "memory"
    return "communication" if OUR_COMMUNICATION.search(row.name) else "compute"


def hta_type(row: Row) -> str:
    """Return what a row is to HTA, by its name alone."""
    if HTA_COMMUNICATION.match(row.name):
        return "communication"
    if HTA_MEMORY.match(row.name):
        return "memory"
    return "other" if HTA_NO_COMPUTE.match(row.name) else "compute"


def exact(rows: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Return begins and ends in whole nanoseconds."""
    begin = np.array([exact_ns(r.ts) for r in rows], dtype=np.int64)
    return begin, begin + np.array([exact_ns(r.dur) for r in rows], dtype=np.int64)


def in_doubles(
    rows: list[Row], all_rows: list[Row], rounds: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return begins and ends in nanoseconds as HTA has them."""
    ts = [float(r.ts) for r in rows]
    dur = [float(r.dur) for r in rows]
    first = min(float(r.ts) for r in all_rows)
    if rounds:
        ends = [math.floor(t + d) for t, d in zip(ts, dur, strict=True)]
        ts = [float(math.ceil(t)) for t in ts]
        dur = [e - t for e, t in zip(ends, ts, strict=True)]
        first = math.ceil(first)
    begin = np.array(ts) - first
    return begin * 1000, (begin + np.array(dur)) * 1000


def launched(rows: list[Row], last_step: bool) -> list[Row]:
    """Return the rows left by HTA's filter of steps, repeated as it repeats them."""

    def of_gpu(r: Row) -> bool:
        return (r.stream >= 0 and r.correlation >= 0) or r.name in SYNCS

    steps = {r.name for r in rows if "ProfilerStep" in r.name}
    if len(steps) < 2:
        return rows
    host = [r for r in rows if not of_gpu(r)]
    marks = [r for r in host if r.name in steps]
    last_begin = max(float(r.ts) for r in marks)
    last_end = max(float(r.ts) + float(r.dur) for r in marks)
    kept = [
        r
        for r in host
        if (float(r.ts) <= last_end if last_step else float(r.ts) < last_begin)
    ]
    calls: dict[int, int] = {}
    for r in kept:
        calls[r.correlation] = calls.get(r.correlation, 0) + 1
    out = list(kept)
    for r in rows:
        if of_gpu(r):
            out += [r] * calls.get(r.correlation, 0)
    return out


def merged(begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unite stretches as HTA does, which may have ends before their begins."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    reached = np.maximum.accumulate(end)
    fresh = np.ones(begin.size, dtype=bool)
    fresh[1:] = begin[1:] > reached[:-1]
    at = np.flatnonzero(fresh)
    if not at.size:
        return begin, end
    return begin[at], np.maximum.reduceat(end, at)


def length(begin: np.ndarray, end: np.ndarray) -> float:
    """Return the length of the union."""
    begins, ends = merged(begin, end)
    return float((ends - begins).sum())


def sums(
    rows: list[Row],
    times: tuple[np.ndarray, np.ndarray],
    type_of: Callable[[Row], str],
) -> dict[str, float]:
    """Return busy, idle and the union of each type, in nanoseconds."""
    begin, end = times
    out = {"busy": 0.0, "idle": 0.0, **dict.fromkeys(TYPES, 0.0), "overlap": 0.0}
    if not rows:
        return out
    begins, ends = merged(begin, end)
    out["busy"] = float((ends - begins).sum())
    out["idle"] = float(ends[-1] - begins[0]) - out["busy"]
    types = np.array([type_of(r) for r in rows])
    for name in TYPES:
        out[name] = length(begin[types == name], end[types == name])
    two = (types == "compute") | (types == "communication")
    either = length(begin[two], end[two])
    out["overlap"] = out["compute"] + out["communication"] - either
    return out


def bridge(
    path: Path, defaults: bool
) -> tuple[dict[str, float], list[tuple[str, dict[str, float]]]]:
    """Return our sums, and what HTA's rules make of them, one more at each place."""
    rows, floats = read(path)
    work = [r for r in rows if r.works]
    out = [("", sums(work, exact(work), our_type))]
    ours = out[0][1]

    def on_stream(some: Iterable[Row]) -> list[Row]:
        return [r for r in some if r.stream != -1]

    chosen = on_stream(rows)
    out.append(("rows", sums(chosen, exact(chosen), our_type)))
    chosen = on_stream(launched(rows, last_step=not defaults))
    out.append(("steps", sums(chosen, exact(chosen), our_type)))
    out.append(("names", sums(chosen, exact(chosen), hta_type)))
    doubles = in_doubles(chosen, rows, rounds=defaults and floats)
    out.append(("rounding", sums(chosen, doubles, hta_type)))
    return ours, out[1:]


def kernel_sums(path: Path, defaults: bool) -> dict[str, float]:
    """Return the sum of durations by name as HTA forms it, in microseconds."""
    rows, floats = read(path)
    left = launched(rows, last_step=not defaults)
    chosen = [r for r in left if r.stream != -1 and hta_type(r) != "other"]
    out: dict[str, float] = {}
    if not chosen:
        return out
    begin, end = in_doubles(chosen, rows, rounds=defaults and floats)
    for row, ns in zip(chosen, end - begin, strict=True):
        out[row.name] = out.get(row.name, 0.0) + float(ns) / 1e3
    return out


def losses(path: Path) -> dict[str, int]:
    """Count device work that HTA's filter of steps leaves out, by why it does."""
    rows, _ = read(path)
    steps = [r for r in rows if "ProfilerStep" in r.name and r.stream == -1]
    out = {"after the last step": 0, "without a launch": 0}
    if len({r.name for r in steps}) < 2:
        return {}
    end = max(float(r.ts) + float(r.dur) for r in steps)
    calls: dict[int, bool] = {}
    for r in rows:
        if r.stream == -1 and r.correlation >= 0:
            inside = float(r.ts) <= end
            calls[r.correlation] = calls.get(r.correlation, False) or inside
    for r in rows:
        if r.works and r.correlation >= 0:
            out["without a launch"] += r.correlation not in calls
            out["after the last step"] += not calls.get(r.correlation, True)
    return out


def strangers(path: Path) -> dict[str, int]:
    """Count what HTA takes for device work and we do not (+), or we alone (-)."""
    out: dict[str, int] = {}
    for r in read(path)[0]:
        if r.works != (r.stream != -1):
            key = f"{'-' if r.works else '+'}{r.cat}"
            if r.cat == MTIA:
                key += f" {r.name}"
            out[key] = out.get(key, 0) + 1
    return out
