# SPDX-License-Identifier: BSD-3-Clause
"""bench_sessions.py: what `profile`, `Analyzer` and `profile_steps` add to a run.

    python -m benchmarks.overhead.bench_sessions [--events 200000] [--repeats 5]

Equal training loops in turn, in one process, all recording the same three steps with
stacks and shapes: under torch's profiler with an export of its own, and under ours.
Timed are the handlers and each whole loop. Prints medians and ratios to the export that
torch's own loop makes.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import io
import os
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks.overhead.bench_overhead import Times, timed, train

STEPS = 7  # a first one, a warm-up, three recorded, two after
SCHEDULE = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1}
OPTIONS = {"with_stack": True, "record_shapes": True}


def torchs_loop(handler: Callable[[Any], object], repeats: int) -> Any:
    gc.collect()  # profilers are parts of cycles of references
    plan = torch.profiler.schedule(**SCHEDULE)
    with torch.profiler.profile(
        schedule=plan, on_trace_ready=handler, **OPTIONS
    ) as prof:
        for _ in range(STEPS):
            train(repeats)
            prof.step()
    return prof


def our_loop(repeats: int) -> Any:
    gc.collect()
    with torchtraceap.profile(quiet=True, **SCHEDULE) as prof:
        for _ in range(STEPS):
            train(repeats)
            prof.step()
    return prof


class Exporting:
    """Exports as torch does, timed."""

    def __init__(self, times: Times, name: str, path: Path) -> None:
        self.times, self.name, self.path = times, name, path

    def __call__(self, prof: Any) -> None:
        with timed(self.times, self.name):
            prof.export_chrome_trace(str(self.path))


class Timed:
    """Calls a handler, timed."""

    def __init__(self, times: Times, name: str, handler: Callable[[Any], object]):
        self.times, self.name, self.handler = times, name, handler

    def __call__(self, prof: Any) -> None:
        with timed(self.times, self.name):
            self.handler(prof)


def one_round(repeats: int, folder: Path, times: Times) -> int:
    path = folder / "trace.json"
    with timed(times, "loop: torch's profiler, export"):
        torchs_loop(Exporting(times, "export .json", path), repeats)
    path.unlink()
    torchs_loop(Exporting(times, "export .json.gz", folder / "trace.json.gz"), repeats)
    with gzip.open(folder / "trace.json.gz") as file:
        size = len(file.read())

    exact = {"detector": "off"}  # see detector_speed.py
    quiet = {"verbosity": 0, **exact}
    for name, handler in {
        "Analyzer": torchtraceap.Analyzer(**quiet),
        "Analyzer, then export .json": torchtraceap.Analyzer(
            **quiet, then=lambda prof: prof.export_chrome_trace(str(path))
        ),
        "Analyzer, summary printed": torchtraceap.Analyzer(**exact),
        "Analyzer, json": torchtraceap.Analyzer(folder, formats=["json"], **quiet),
        "Analyzer, trace (.json.gz)": torchtraceap.Analyzer(
            folder, formats=["trace"], **quiet
        ),
    }.items():
        with redirect_stdout(io.StringIO()):
            torchs_loop(Timed(times, name, handler), repeats)
        assert handler.report is not None
    for file in folder.iterdir():
        file.unlink()

    with timed(times, "loop: profile()"):
        prof = our_loop(repeats)
    assert [step.number for step in prof.report.steps] == [2, 3, 4]
    with timed(times, "loop: no profiler"):
        for _ in range(STEPS):
            train(repeats)
    return size


def repeats_for(events: int) -> int:
    prof = our_loop(5)
    return max(1, round(events / (prof.report.trace.events / 5)))


def show(times: Times) -> None:
    median: Callable[[str], float] = lambda key: statistics.median(times[key])  # noqa: E731
    base = median("export .json")
    loop = median("loop: torch's profiler, export")
    for key in times:
        ratio = (
            f"{median(key) / loop:5.2f} x torch's loop"
            if key.startswith("loop")
            else f"{median(key) / base:5.2f} x export"
        )
        print(f"  {key:32} {median(key):7.3f} s  {ratio}")
    added = median("Analyzer, then export .json") - base
    print(
        f"  {'added beside the export':32} {added:7.3f} s  {added / base:5.2f} x export"
    )


def afterwards() -> None:
    """Print what a call of a decorated function and a step cost once all is over."""

    def nothing() -> None: ...

    decorated = torchtraceap.profile_steps(quiet=True)(nothing)
    for _ in range(6):
        decorated()
    prof = our_loop(1)
    calls = 200_000

    def each_ns(call: Callable[[], object]) -> float:
        def once() -> float:
            begin = time.perf_counter_ns()
            for _ in range(calls):
                call()
            return (time.perf_counter_ns() - begin) / calls

        return min(once() for _ in range(7))

    base = each_ns(nothing)
    print("\nafter the cycle:")
    print(f"  a call of a decorated function  {each_ns(decorated) - base:5.0f} ns more")
    print(f"  prof.step()                     {each_ns(prof.step):5.0f} ns")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python "
        f"{platform.python_version()}, torch {torch.__version__}, torchtraceap "
        f"{torchtraceap.__version__}; medians of {arguments.repeats}"
    )
    train(10)
    repeats = repeats_for(arguments.events)
    events = our_loop(repeats).report.trace.events
    times: Times = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.repeats):
            size = one_round(repeats, Path(folder), times)
    print(f"\nthree steps: {events:,} events, {size / 1e6:.0f} MB of JSON")
    show(times)
    afterwards()


if __name__ == "__main__":
    main()
