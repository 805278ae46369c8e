# SPDX-License-Identifier: BSD-3-Clause
"""by_hand.py: cost of live profilers and of the pytest plugin, for results/overhead.md.

    python -m benchmarks.overhead.by_hand handler [--events 200000] [--repeats 5]
    python -m benchmarks.overhead.by_hand sessions [--events 200000] [--repeats 5]
    python -m benchmarks.overhead.by_hand pytest [--repeats 21]

``handler`` is what ``on_trace_ready=torchtraceap.analyze`` adds to a profiled run: in
one process and on equal runs in turn the profiler's own export alone, the analysis
alone, and the analysis with the same export after it; then where the analysis spends
its time. The numbers of events of the analyzed trace and of the exported file are
checked to be equal.

``sessions`` is what `profile`, `Analyzer` and `profile_steps` add: equal training loops
in turn, all recording the same three steps with stacks and shapes, under torch's
profiler with an export of its own, and under ours. Timed are the handlers and each
whole loop.

``pytest`` is what the registered plugin adds to every start, on one empty test, with it
and with `-p no:torchtraceap`. Their difference is often lost in the noise of a start,
so the import of the plugin into a process that has pytest is timed by itself too, and
that of torch for scale.

All print medians, and ratios to the cost without torchtraceap.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import io
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import torchtraceap
from torchtraceap.profiling import live

Times = dict[str, list[float]]

STEPS = 7  # a first one, a warm-up, three recorded, two after
SCHEDULE = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1}
OPTIONS = {"with_stack": True, "record_shapes": True}


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


def show(times: Times, base: Callable[[str], str]) -> None:
    """Print medians, and ratios to that of the row that `base` names."""
    for key in times:
        middle, of = statistics.median(times[key]), base(key)
        ratio = middle / statistics.median(times[of])
        print(f"  {key:32} {middle:7.3f} s  {ratio:5.2f} x {of}")


# --- The analysis as a handler ----------------------------------------------------


def record(steps: int, times: Times, **options: Any) -> Any:
    prof = profile(activities=[ProfilerActivity.CPU], **options)
    prof.start()
    train(steps)
    with timed(times, "profiler's stop, for scale"):
        prof.stop()
    return prof


def export(prof: Any, folder: Path) -> Path:
    path = folder / "trace.json"
    prof.export_chrome_trace(str(path))
    return path


def analyzed(steps: int, folder: Path, times: Times, **options: Any) -> tuple[int, int]:
    """Time the handler once; returns the trace's events and bytes."""
    prof = record(steps, times, **options)
    with timed(times, "export alone"):
        path = export(prof, folder)
    size = path.stat().st_size

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
    with timed(times, "- it is analyzed"):
        torchtraceap.analyze(trace)
    with timed(times, "- it is copied to the user"):
        export(prof, folder)
    return report.trace.events, size


def handler(events: int, repeats: int, folder: Path) -> None:
    for name in ("record_shapes", "with_stack"):
        options = {name: True}
        times: Times = defaultdict(list)
        prof = record(10, defaultdict(list), **options)
        steps = max(1, round(10 * events / torchtraceap.analyze(prof).trace.events))
        for _ in range(repeats):
            count, size = analyzed(steps, folder, times, **options)
        print(f"\n{name}: {count:,} events, {size / 1e6:.0f} MB of JSON")
        show(times, lambda key: "export alone")


# --- Sessions ---------------------------------------------------------------------


def torchs_loop(handler: Callable[[Any], object], repeats: int) -> None:
    plan = torch.profiler.schedule(**SCHEDULE)
    run_loop(
        torch.profiler.profile(schedule=plan, on_trace_ready=handler, **OPTIONS),
        repeats,
    )


def our_loop(repeats: int) -> Any:
    return run_loop(torchtraceap.profile(quiet=True, **SCHEDULE), repeats)


def run_loop(profiler: Any, repeats: int) -> Any:
    gc.collect()  # profilers are parts of cycles of references
    with profiler as prof:
        for _ in range(STEPS):
            train(repeats)
            prof.step()
    return prof


def in_sessions(repeats: int, folder: Path, times: Times) -> int:
    """Time all sessions once; returns the bytes of the trace."""
    path = folder / "trace.json"

    def run(name: str, handler: Callable[[Any], object]) -> None:
        def called(prof: Any) -> None:
            with timed(times, name):
                handler(prof)

        with redirect_stdout(io.StringIO()):
            torchs_loop(called, repeats)

    with timed(times, "loop: torch's profiler, export"):
        run("export .json", lambda prof: prof.export_chrome_trace(str(path)))
    path.unlink()
    packed = folder / "trace.json.gz"
    run("export .json.gz", lambda prof: prof.export_chrome_trace(str(packed)))
    with gzip.open(packed) as file:
        size = len(file.read())

    exact = {"detector": "off"}  # see detector_speed.py
    quiet = {"verbosity": 0, **exact}
    for name, analyzer in {
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
        run(name, analyzer)
        assert analyzer.report is not None
    for file in folder.iterdir():
        file.unlink()

    with timed(times, "loop: profile()"):
        prof = our_loop(repeats)
    assert [step.number for step in prof.report.steps] == [2, 3, 4]
    with timed(times, "loop: no profiler"):
        for _ in range(STEPS):
            train(repeats)
    return size


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


def sessions(events: int, repeats: int, folder: Path) -> None:
    steps = max(1, round(5 * events / our_loop(5).report.trace.events))
    count = our_loop(steps).report.trace.events
    times: Times = defaultdict(list)
    for _ in range(repeats):
        size = in_sessions(steps, folder, times)
    print(f"\nthree steps: {count:,} events, {size / 1e6:.0f} MB of JSON")
    loop = "loop: torch's profiler, export"
    show(times, lambda key: loop if key.startswith("loop") else "export .json")
    afterwards()


# --- The plugin of pytest ---------------------------------------------------------

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
COMMANDS = {
    "pytest without the plugin": [*PYTEST, "-p", "no:torchtraceap"],
    "pytest with the plugin": PYTEST,
}
IMPORT = """
import pytest, time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
IMPORTS = {"importing the plugin": "torchtraceap.pytest_plugin", "- torch": "torch"}


def pytest(events: int, repeats: int, folder: Path) -> None:
    (folder / "test_empty.py").write_text("def test_it(): pass\n")

    def run(command: list[str]) -> str:
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout

    times: Times = defaultdict(list)
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            with timed(times, name):
                run(command)
        for name, module in IMPORTS.items():
            code = IMPORT.format(module=module)
            times[name].append(float(run([sys.executable, "-c", code])))
    show(times, lambda key: "pytest without the plugin")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("handler", "sessions", "pytest"))
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python "
        f"{platform.python_version()}, torch {torch.__version__}, torchtraceap "
        f"{torchtraceap.__version__}; medians of {given.repeats}"
    )
    train(10)
    with tempfile.TemporaryDirectory() as folder:
        globals()[given.what](given.events, given.repeats, Path(folder))


if __name__ == "__main__":
    main()
