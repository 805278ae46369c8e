#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""detector_speed.py [TRACE...]: the cost of the learned detector in an analysis.

    python -m benchmarks.overhead.detector_speed         # some minutes; prints a page
    python -m benchmarks.overhead.detector_speed --page  # writes the page
    python -m benchmarks.overhead.detector_speed --device cuda  # on a GPU too

For each trace and number of threads: load and analysis without the detector, its
features, the network, all together; the time of the first call; time and memory of a
trace against one four times as long; bfloat16; training steps. Every figure is measured
in a process of its own (detector_once.py). Without traces: the public ones in LARGE, or
one of tests/data. --page also writes benchmarks/results/detector_speed.json; run it on
an idle machine. Exit codes: 2 bad usage.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import DATA, ROOT, TRACES
from benchmarks.analysis.repeat import write_repeated
from benchmarks.lab import pages
from benchmarks.lab.pages import Target
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED

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


def once(
    measure: str, trace: Path, threads: int, *, sparing: bool = False, **options: Any
) -> dict[str, Any]:
    """Measure something of a trace in a process of its own; `sparing`: where memory
    that is given back is not kept for later."""
    weights, device = options["weights"], options["device"]
    command = [
        sys.executable,
        "-m",
        "benchmarks.overhead.detector_once",
        measure,
        str(trace),
    ]
    command += [str(weights), "--device", device, "--threads", str(threads)]
    command += ["--rounds", str(options["rounds"])]
    command += ["--batch-tokens", str(options["batch_tokens"])]
    print(f"{measure}, {threads} threads, {name_of(trace)}", file=sys.stderr)
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        # As an analysis gets it: without a setting for the threads of torch.
        env=os.environ
        | {"OMP_NUM_THREADS": str(threads)}
        | (SPARING if sparing else {}),
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return {"trace": name_of(trace), "threads": threads} | measured


def used_bytes(trace: Path, threads: int, **options: Any) -> int:
    """Return the most memory that scoring uses at once, without what is kept."""
    measured = once("memory", trace, threads, sparing=True, **options)
    return int(measured["grown_bytes"])


def name_of(trace: Path) -> str:
    """Return what a trace is called in tables."""
    return trace.name.removesuffix(".gz").removesuffix(".json")


def measured(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure all; traces that are made lie in a folder."""
    cpu = {"weights": given.weights, "rounds": given.rounds, "device": "cpu"}
    cpu |= {"batch_tokens": given.batch_tokens}
    traces = given.traces or default_traces(folder)
    few = min(given.threads)
    rows = [once("stages", t, n, **cpu) for t in traces for n in given.threads]
    shortest = traces[
        min(range(len(traces)), key=lambda i: rows[i * len(given.threads)]["events"])
    ]
    long = folder / f"{name_of(shortest)}, {LONGER} times.json"
    write_repeated(shortest, LONGER, long)
    growth = [
        once("stages", trace, few, **cpu)
        | once("memory", trace, few, **cpu)
        | {"used_bytes": used_bytes(trace, few, **cpu)}
        for trace in (shortest, long)
    ]
    starts = [once("first", shortest, few, **cpu) for _ in range(min(3, given.rounds))]
    there = cpu | {"device": given.device}
    out = {
        "traces": rows,
        "growth": growth,
        "longer": LONGER,
        "first": {
            part: min(start[part] for start in starts)
            for part in ("torch", "weights", "network", "later")
        },
        "precision": once("precision", traces[0], few, **cpu),
        "learning": [once("learning", shortest, n, **there) for n in given.threads],
        "device": given.device,
    }
    if given.device != "cpu":
        out["gpu"] = [once("precision", trace, few, **there) for trace in traces]
    return out


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
    parser.add_argument("--device", default="cpu", help="cuda: a GPU besides")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--page", action="store_true", help="write the page")
    given = parser.parse_args()
    for path in (given.weights, *given.traces):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    if given.rounds < 1 or min(given.threads) < 1:
        parser.error("--rounds and --threads are 1 and more")
    import torch

    if given.device != "cpu" and not torch.cuda.is_available():
        print("detector_speed.py: no GPU here, so the CPU alone", file=sys.stderr)
        given.device = "cpu"
    begin, machine = time.perf_counter(), pages.machine()
    with tempfile.TemporaryDirectory() as folder:
        results = measured(given, Path(folder))
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
