# SPDX-License-Identifier: BSD-3-Clause
"""raw_trace.py: a trace's events as Python's json reads them, for sums of its own.

Times are whole nanoseconds, exact from the text. Nothing here uses torchtraceap.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

# By today's names and those of 2021.
COPIES = {"gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
KERNELS = {"kernel", "Kernel", "mtia_ccp_events", "hpu_op"}
# MTIA's streams hold what they wait for, too.
MARKS = {"event_record", "event_wait"}
# ... and its copies by the category of its kernels; which way tells an arg.
WAYS = {"HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH"}
OPERATORS = {"cpu_op", "Operator"}


class Raw(NamedTuple):
    """An event with a start and a length."""

    category: str
    name: str
    begin: int
    end: int
    pid: Any
    tid: Any
    args: dict[str, Any]

    @property
    def device(self) -> int:
        """Where device work ran."""
        return int(self.args.get("device", self.pid))


def read_events(path: Path) -> list[Raw]:
    """Read the events that have times."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = json.loads(data.decode("utf-8", "replace"), parse_float=Decimal)
    events = text["traceEvents"] if isinstance(text, dict) else text
    out = []
    for e in events:
        if e.get("ph") != "X" or "ts" not in e or "dur" not in e or e["dur"] < 0:
            continue
        if e.get("name") in MARKS:
            continue
        if e.get("cat") == "mtia_ccp_events" and e["name"] == "dma_request":
            args = e["args"]
            e["name"] = f"dma_request {WAYS[args['direction']]}"
            e["cat"], args["bytes"] = "gpu_memcpy", args["size"]
        begin, length = _ns(e["ts"]), _ns(e["dur"])
        out.append(
            Raw(
                e.get("cat", ""),
                e.get("name", ""),
                begin,
                begin + length,
                e.get("pid"),
                e.get("tid"),
                e.get("args") or {},
            )
        )
    return out


def _ns(us: Any) -> int:
    return round(Decimal(us) * 1000)


def union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge half-open intervals."""
    out: list[tuple[int, int]] = []
    for begin, end in sorted(i for i in intervals if i[1] > i[0]):
        if out and begin <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def length(intervals: Iterable[tuple[int, int]], begin: int, end: int) -> int:
    """Add up what of disjoint intervals lies in [begin, end)."""
    return sum(max(0, min(e, end) - max(b, begin)) for b, e in intervals)
