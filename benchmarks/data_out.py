# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/data_out.py [TRACE]: the cost of exporting a trace's events.

Repeats TRACE until it has a million events, analyzes the result, and prints the least
time of several runs for each format.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torchtraceap

_TRACE = "tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz"
_EVENTS = 1_000_000
_APART_US = 2_000_000
_TURNS = 5


def repeated(source: Path) -> bytes:
    """Return a trace of about a million events, of the same names throughout."""
    with gzip.open(source) as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    copies = round(_EVENTS / len(events))
    trace["traceEvents"] = [
        event | ({"ts": event["ts"] + i * _APART_US} if "ts" in event else {})
        for i in range(copies)
        for event in events
    ]
    return json.dumps(trace).encode()


def least(make: Callable[[Path], Any]) -> float:
    """Return the seconds of the quickest turn, each into a new folder."""
    times = []
    for _ in range(_TURNS):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            made = make(Path(folder) / "out")
            times.append(time.perf_counter() - begin)
            del made
    return min(times)


def main() -> None:
    """Measure and print."""
    trace = repeated(Path(*sys.argv[1:] or [_TRACE]))
    report = torchtraceap.analyze(trace, detector="off")
    print(f"{report.trace.events:,} events; seconds, the least of {_TURNS}")
    forms: dict[str, Callable[[Path], Any]] = {
        "to_arrow().events": lambda _: report.to_arrow().events,
        "to_pandas().events": lambda _: report.to_pandas().events,
        "to_pandas().findings": lambda _: report.to_pandas().findings,
        "to_parquet(folder)": report.to_parquet,
    }
    for name, make in forms.items():
        print(f"{name:22} {least(make):7.3f}")


if __name__ == "__main__":
    main()
