# SPDX-License-Identifier: BSD-3-Clause
"""speed.py: the cost of a replay, and its growth with the trace.

    python -m benchmarks.replay.speed [--traces FOLDER]

For the largest public traces and one repeated 4 and 16 times: making the schedule,
judging it and pricing every finding (what reading ``report.rule_findings`` adds to an
analysis), and one what-if. Writes benchmarks/results/replay_speed.json and
results/replay_speed.md. Builds and keeps everything where benchmarks/loader does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import DATA, ROOT, TRACES
from benchmarks.analysis.repeat import write_repeated
from benchmarks.lab import pages
from benchmarks.loader import environments
from benchmarks.loader.make_inputs import default_folder

LARGEST, ROUNDS = 6, 7
REPEATED = "v100-ns-timestamps-rank0of1", "kineto2021-v100-resnet50-workers0-memory"
LIMITS = {"price": 2.0, "replay": 0.3}  # seconds, for 200,000 events on one core


def measure(path: Path) -> dict[str, Any]:
    """Time one trace, in this process."""
    import time

    import torchtraceap

    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    report = torchtraceap.analyze(path, detector="off")
    core = report.core
    least = {"price": 1e9, "replay": 1e9}
    for _ in range(ROUNDS):
        began = time.process_time()
        replay = core.replay()
        least["price"] = min(least["price"], time.process_time() - began)
        began = time.process_time()
        replay.what_if(core, [])
        least["replay"] = min(least["replay"], time.process_time() - began)
    return {
        "trace": path.name.partition(".json")[0],
        "events": report.trace.events,
        "findings": len(report.rule_findings),
        **least,
    }


def growth(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the pairs of what was repeated: 4 times as often, findings may grow."""
    by_name = {row["trace"]: row for row in figures["traces"]}
    pairs = [
        (name, by_name[f"{name} x4"], by_name[f"{name} x16"])
        for name in REPEATED
        if f"{name} x16" in by_name
    ]
    return {"growth": pairs, "rounds": ROUNDS}


def main() -> None:
    """Build, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    machine = pages.machine()
    _, package = environments.build(default_folder())
    python, missing = environments.environment(default_folder(), "ours")
    if missing:
        sys.exit(f"cannot install {missing}")
    found = [*options.traces.glob("*.json.gz")]
    found = found or [*DATA.glob("*.json.gz")]
    found.sort(key=lambda path: path.stat().st_size, reverse=True)
    inputs = found[:LARGEST]
    where = default_folder() / "analysis"
    where.mkdir(parents=True, exist_ok=True)
    for path in found:
        name = path.name.removesuffix(".json.gz")
        if name not in REPEATED:
            continue
        for times in (4, 16):
            inputs.append(where / f"{name} x{times}.json")
            write_repeated(path, times, inputs[-1])
    results = []
    for path in inputs:
        done = subprocess.run(
            [str(python), "-m", "benchmarks.replay.speed", "--one", str(path)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        results.append(json.loads(done.stdout))
    figures = {"machine": machine, "traces": results, "limits_s": LIMITS}
    print(pages.write("replay_speed", figures))


if __name__ == "__main__":
    main()
