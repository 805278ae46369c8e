# SPDX-License-Identifier: BSD-3-Clause
"""detector_speed.py [TRACE...]: the cost of the learned detector in an analysis.

    python -m benchmarks.analysis.detector_speed         # some minutes; prints a page
    python -m benchmarks.analysis.detector_speed --page  # writes the page

For each trace and number of threads: load and analysis without the detector, its
features, the network, all together; the time of the first call; time and memory of a
trace against one four times as long. Every figure is measured in a process of its own;
seconds are of the wall clock, the best round: other programs only make one slower.
Without traces: the public ones in LARGE, or one of tests/data. --page also writes
benchmarks/results/detector_speed.json; run it on an idle machine. Speed and agreement
on a GPU are measured by benchmarks/device/scores.py. Exit codes: 2 bad usage.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torchtraceap
from benchmarks import DATA, ROOT, TRACES
from benchmarks.analysis.repeat import write_repeated
from benchmarks.lab import pages
from benchmarks.lab.pages import Target
from benchmarks.loader.loaders import resident
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED
from torchtraceap.detection.detection import EVENTS

#: The first has 216,092 events: that is what limits are asked for.
LARGE = (
    "v100x2-nccl-allreduce-heavy-rank1of2-53MB",
    "mi300-xdit-sd35-62MB",
    "h100-owlv2-large-55MB",
    "kineto2021-v100-resnet50-workers0-memory",
)
#: In every checkout, some 76,000 events; thrice it is about as long as asked for.
OURS = DATA / "kineto2021-v100-resnet50-workers0-memory.json.gz"
THRICE, LONGER = 3, 4
#: Has the C library of Linux map every larger piece of memory, and unmap it at once.
SPARING = {"MALLOC_MMAP_THRESHOLD_": "65536"}
#: Limits apply to a trace of this number of events.
ASKED_EVENTS = 216_000


# --- In a process of its own ----------------------------------------------------------


def timed(call: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def best(call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the fastest round, after one that is not counted."""
    call()
    return min(timed(call) for _ in range(rounds))


class Ready:
    """A trace and a model, both in memory."""

    def __init__(self, given: argparse.Namespace) -> None:
        report = torchtraceap.analyze(
            given.trace, detector="off", quiet=True, threads=given.threads
        )
        self.events = report.trace.events
        self.features = report.features()
        module = load_torch_module()
        of = self.features
        self.arrays = module.Arrays(of.windows, of.tokens, of.token_begin)
        self.model = module.Model.load(str(given.weights))
        self.options = {
            "events": EVENTS,
            "threads": given.threads,
            "batch_tokens": given.batch_tokens,
        }

    def say(self) -> dict[str, Any]:
        """Ask the model about every window."""
        said: dict[str, Any] = self.model.say(self.arrays, **self.options)
        return said


def stages(given: argparse.Namespace) -> dict[str, Any]:
    """Time each part of an analysis with the detector, torch being loaded."""
    read = {"quiet": True, "threads": given.threads}

    def without() -> None:
        report = torchtraceap.analyze(given.trace, detector="off", **read)
        _ = report.rule_windows, report.rule_findings

    def whole() -> None:
        report = torchtraceap.analyze(given.trace, detector=given.weights, **read)
        _ = report.windows, report.findings

    ready = Ready(given)
    report = torchtraceap.analyze(given.trace, detector="off", **read)
    return {
        "events": ready.events,
        "windows": len(ready.arrays),
        "tokens": int(ready.features.token_begin[-1]),
        "without": best(without, given.rounds),
        "features": best(report.features, given.rounds),
        "network": best(ready.say, given.rounds),
        "whole": best(whole, given.rounds),
    }


def first(given: argparse.Namespace) -> dict[str, Any]:
    """Time what only the first call of a process takes."""
    torch = timed(load_torch_module)
    weights = timed(partial(load_torch_module().Model.load, str(given.weights)))
    ready = Ready(given)
    return {
        "torch": torch,
        "weights": weights,
        "network": timed(ready.say),
        "later": min(timed(ready.say) for _ in range(given.rounds)),
    }


def memory(given: argparse.Namespace) -> dict[str, Any]:
    """Return the most memory that scoring takes beside the trace and the weights."""
    ready = Ready(given)
    with contextlib.suppress(OSError, AttributeError):
        # What the analysis is done with would be taken again, and not be counted.
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the analysis
    before = resident("VmRSS")
    ready.say()
    return {
        "windows": len(ready.arrays),
        "before_bytes": before,
        "grown_bytes": resident("VmHWM") - before,
    }


MEASURES = {"stages": stages, "first": first, "memory": memory}


# --- The command ----------------------------------------------------------------------


def once(
    measure: str, trace: Path, threads: int, *, sparing: bool = False, **options: Any
) -> dict[str, Any]:
    """Measure something of a trace in a process of its own; `sparing`: where memory
    that is given back is not kept for later."""
    command = [sys.executable, "-m", "benchmarks.analysis.detector_speed", str(trace)]
    command += ["--once", measure, "--threads", str(threads)]
    for name in ("weights", "rounds", "batch_tokens"):
        command += [f"--{name.replace('_', '-')}", str(options[name])]
    print(f"{measure}, {threads} threads, {name_of(trace)}", file=sys.stderr)
    # As an analysis gets it: without a setting for the threads of torch.
    more = {"OMP_NUM_THREADS": str(threads)} | (SPARING if sparing else {})
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | more,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return {"trace": name_of(trace), "threads": threads} | found


def name_of(trace: Path) -> str:
    """Return what a trace is called in tables."""
    return trace.name.removesuffix(".gz").removesuffix(".json")


def measured(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure all; traces that are made lie in a folder."""
    names = ("weights", "rounds", "batch_tokens")
    options = {name: getattr(given, name) for name in names}
    traces = given.traces or default_traces(folder)
    few = min(given.threads)
    rows = [once("stages", t, n, **options) for t in traces for n in given.threads]
    each = dict(zip(traces, rows[:: len(given.threads)], strict=True))
    shortest = min(traces, key=lambda trace: each[trace]["events"])
    long = folder / f"{name_of(shortest)}, {LONGER} times.json"
    write_repeated(shortest, LONGER, long)
    growth = []
    for trace in (shortest, long):
        used = once("memory", trace, few, sparing=True, **options)["grown_bytes"]
        row = once("stages", trace, few, **options)
        row |= once("memory", trace, few, **options)
        growth.append(row | {"used_bytes": used})
    starts = [once("first", shortest, few, **options) for _ in range(3)]
    parts = ("torch", "weights", "network", "later")
    return {
        "traces": rows,
        "growth": growth,
        "longer": LONGER,
        "first": {part: min(start[part] for start in starts) for part in parts},
    }


def default_traces(folder: Path) -> list[Path]:
    """Return the public traces; where they are not, one of ours, and thrice it."""
    found = [TRACES / f"{name}.json.gz" for name in LARGE]
    found = [path for path in found if path.exists()]
    if not found:
        found = [folder / f"{name_of(OURS)}, {THRICE} times.json", OURS]
        write_repeated(OURS, THRICE, found[0])
    return found


def about(weights: Path) -> dict[str, Any]:
    """Return which weights were measured."""
    model = load_torch_module().Model.load(str(weights))
    return {
        "name": model.card.get("name", weights.name),
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "bytes": weights.stat().st_size,
        "parameters": model.network.parameters,
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--weights", type=Path, default=BUNDLED)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--page", action="store_true", help="write the page")
    parser.add_argument("--once", choices=MEASURES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    for path in (given.weights, *given.traces):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    if given.rounds < 1 or min(given.threads) < 1:
        parser.error("--rounds and --threads are 1 and more")
    if given.once:
        given.trace, given.threads = given.traces[0], given.threads[0]
        print(json.dumps(MEASURES[given.once](given)))
        return 0
    begin, machine = time.perf_counter(), pages.machine()
    with tempfile.TemporaryDirectory() as folder:
        results = measured(given, Path(folder))
    import torch

    machine["seconds"] = round(time.perf_counter() - begin)
    results["weights"], results["machine"] = about(given.weights), machine
    results["versions"] = {"torch": torch.__version__}
    results["targets"] = [target.as_row() for target in targets(results)]
    if given.page:
        print(pages.write("detector_speed", results))
    else:
        print(pages.render(pages.page("detector_speed"), results))
    return 0


def targets(results: dict[str, Any]) -> Iterator[Target]:
    """Yield what is asked, beside what was measured."""
    rows = results["traces"]
    nearest = min(rows, key=lambda row: abs(row["events"] - ASKED_EVENTS))
    for row in rows:
        if row["trace"] == nearest["trace"]:
            what = f"analysis with the detector, {row['events']:,} events, "
            threads = f"{row['threads']} thread" + "s" * (row["threads"] > 1)
            yield Target(what + threads, row["whole"], 3, 1, True, "s")
    small, large = results["growth"]
    windows = large["windows"] / small["windows"]
    time = large["network"] / small["network"] / windows
    yield Target("time a window, long against short", time, 1.3, 1.1, True)
    for name, what in (("peak", "grown_bytes"), ("memory used", "used_bytes")):
        memory = large[what] / max(1, small[what])
        text = f"{name} of scoring, long against short"
        yield Target(text, memory, 2, 1.3, True)


if __name__ == "__main__":
    sys.exit(main())
