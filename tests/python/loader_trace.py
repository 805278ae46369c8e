# SPDX-License-Identifier: BSD-3-Clause
"""loader_trace.py: a trace made by hand, of steps that wait for a data loader."""

from __future__ import annotations

import json
from collections.abc import Sequence

STEP_US = 10_000
_WAIT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loader_trace(
    file: str = "train.py",
    line: int = 12,
    function: str = "load",
    waits_us: Sequence[float] = (9_000,),
    steps: bool = True,
    step_us: float = STEP_US,
) -> bytes:
    """Return a CPU trace whose steps of 10 ms wait so long in a line of a file."""
    events = []
    for number, wait in enumerate(waits_us):
        start = number * step_us
        frame = f"{file}({line}): {function}"
        rows = [
            ("python_function", frame, start, step_us, {"Python id": number + 1}),
            ("user_annotation", _WAIT, start, wait, {"External id": number}),
            ("cpu_op", "aten::mm", start + wait, step_us - wait - 50, {}),
        ]
        if steps:
            rows.append(
                ("user_annotation", f"ProfilerStep#{number}", start, step_us, {})
            )
        events += [
            {
                **{"ph": "X", "pid": 1, "tid": 1},
                **{"cat": category, "name": name, "ts": ts, "dur": dur, "args": args},
            }
            for category, name, ts, dur, args in rows
        ]
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
