# SPDX-License-Identifier: BSD-3-Clause
"""deep_trace.py: a trace whose evidence lies deeper than a page has rows."""

from __future__ import annotations

import json
from typing import Any


def deep_trace(threads: int, frames: int = 31) -> bytes:
    """Waits for a device below frames so deep, on one of many threads, that they are
    put into the last row, across frames that reach beyond them."""
    events: list[dict[str, Any]] = []

    def add(name: str, ts: int, dur: int, tid: int, cat: str, **args: object) -> None:
        pid = 0 if cat == "kernel" else 1
        where = {"ph": "X", "pid": pid, "tid": tid, "cat": cat, "name": name}
        events.append({**where, "ts": ts, "dur": dur, "args": args})

    for thread in range(threads):
        for depth in range(frames):
            number = {"Python id": 40 * thread + depth}
            name, tid = f"train.py({depth + 1}): f{depth}", 1000 + thread
            length = 100_000 - 2 * depth
            add(name, depth, length, tid, "python_function", **number)
    for step in range(20):
        at, link = 2_000 + 4_000 * step, {"correlation": step + 1}
        add("cudaLaunchKernel", at, 5, 1000, "cuda_runtime", **link)
        add("k", at + 10, 500, 7, "kernel", device=0, stream=7, **link)
        add("aten::item", at + 20, 3_000, 1000, "cpu_op")
        synchronize = {"correlation": 100 + step}
        name = "cudaStreamSynchronize"
        add(name, at + 30, 2_900, 1000, "cuda_runtime", **synchronize)
    return json.dumps({"traceEvents": events}).encode()
