# SPDX-License-Identifier: BSD-3-Clause
"""bench_overhead.py: what `on_trace_ready=torchtraceap.analyze` adds to a profiled run.

    python -m benchmarks.overhead.bench_overhead [--events 200000] [--repeats 5]

Compares, in one process and on equal runs in turn: the profiler's own export alone;
the analysis alone; the analysis with the same export after it. Prints medians, the
ratio of each to the export alone, and where the analysis spends its time. The numbers
of events of the analysed trace and of the exported file are checked to be equal.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import torchtraceap
from torchtraceap.profiling import live

Times = dict[str, list[float]]


def train(steps: int) -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(8)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        model(torch.ones(4, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


@contextmanager
def timed(times: Times, name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    times[name].append(time.perf_counter() - start)


def record(steps: int, times: Times, **options: Any) -> Any:
    prof = profile(activities=[ProfilerActivity.CPU], **options)
    prof.start()
    train(steps)
    with timed(times, "profiler's stop, for scale"):
        prof.stop()
    return prof


def export(prof: Any, folder: str) -> str:
    path = os.path.join(folder, "trace.json")
    prof.export_chrome_trace(path)
    return path


def one_round(steps: int, folder: str, times: Times, **options: Any) -> tuple[int, int]:
    prof = record(steps, times, **options)
    with timed(times, "export alone"):
        path = export(prof, folder)
    size = os.path.getsize(path)

    prof = record(steps, times, **options)
    with timed(times, "analysis alone"):
        report = torchtraceap.analyze(prof)

    prof = record(steps, times, **options)
    with timed(times, "analysis, then export"):
        report = torchtraceap.analyze(prof)
        path = export(prof, folder)
    assert report.trace.events == torchtraceap.load(path).columns["ts"].size

    # The same in parts.
    prof = record(steps, times, **options)
    with timed(times, "- Kineto writes the kept file"):
        live._kept(live.inner_profile(prof))
    with timed(times, "- it is loaded"):
        trace = live.load(prof)
    with timed(times, "- it is analysed"):
        torchtraceap.analyze(trace)
    with timed(times, "- it is copied to the user"):
        export(prof, folder)
    return report.trace.events, size


def steps_for(events: int, **options: Any) -> int:
    prof = record(10, defaultdict(list), **options)
    per_step = torchtraceap.analyze(prof).trace.events / 10
    return max(1, round(events / per_step))


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
    settings: list[tuple[str, dict[str, Any]]] = [
        ("record_shapes", {"record_shapes": True}),
        ("with_stack", {"with_stack": True}),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, options in settings:
            times: Times = defaultdict(list)
            steps = steps_for(arguments.events, **options)
            for _ in range(arguments.repeats):
                events, size = one_round(steps, folder, times, **options)
            print(f"\n{name}: {events:,} events, {size / 1e6:.0f} MB of JSON")
            show(times)


def show(times: Times) -> None:
    median: Callable[[str], float] = lambda key: statistics.median(times[key])  # noqa: E731
    base = median("export alone")
    for key in times:
        print(f"  {key:32} {median(key):7.3f} s  {median(key) / base:5.2f} x export")


if __name__ == "__main__":
    main()
