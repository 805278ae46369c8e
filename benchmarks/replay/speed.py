# SPDX-License-Identifier: BSD-3-Clause
"""speed.py: what replaying costs, and how it grows with the trace.

    python -m benchmarks.replay.speed [--traces FOLDER]

Of the largest public traces and of one repeated 4 and 16 times: making the schedule,
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

from benchmarks import DATA, RESULTS, ROOT, TRACES
from benchmarks.analysis.repeat import write_repeated
from benchmarks.loader import environments
from benchmarks.loader.make_inputs import default_folder
from benchmarks.loader.render import table
from benchmarks.replay.fidelity_page import machine_text

LARGEST, ROUNDS = 6, 7
REPEATED = "v100-ns-timestamps-rank0of1", "kineto2021-v100-resnet50-workers0-memory"
LIMITS = {"price": 2.0, "replay": 0.3}  # seconds, for 200,000 events on one core
INTRODUCTION = """\
# What replaying costs

Written by `python -m benchmarks.replay.speed`; not edited by hand. CPU time of one
core, the least of {rounds} rounds, in milliseconds: noise only adds. *price* makes the
schedule, judges it and replays it once without each finding, and without all; *what-if*
is one `what_if`, of three replays. Asked for are 2 s and 0.3 s at 200,000 events.

{machine}
"""


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


def rows(results: list[dict[str, Any]]) -> list[list[str]]:
    """Return a line of the table for each trace."""
    return [
        [
            row["trace"],
            f"{row['events']:,}",
            str(row["findings"]),
            f"{1e3 * row['price']:.1f}",
            f"{1e3 * row['replay']:.1f}",
        ]
        for row in results
    ]


def growth(results: list[dict[str, Any]]) -> list[list[str]]:
    """Return t(4N)/t(N) of what was repeated: 4 times the 4, and findings may grow."""
    by_name = {row["trace"]: row for row in results}
    out = []
    for name in REPEATED:
        if f"{name} x16" not in by_name:
            continue
        few, many = by_name[f"{name} x4"], by_name[f"{name} x16"]
        out.append(
            [name]
            + [f"{many[what] / few[what]:.2f}" for what in ("price", "replay")]
            + [f"{few['findings']} -> {many['findings']}"]
        )
    return out


def main() -> None:
    """Build, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    machine = environments.machine()
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
    machine["load_after"] = os.getloadavg()[0]
    kept = RESULTS / "replay_speed.json"
    text = {"machine": machine, "traces": results, "limits_s": LIMITS}
    kept.write_text(json.dumps(text, indent=1) + "\n")
    head = INTRODUCTION.format(rounds=ROUNDS, machine=machine_text(machine))
    titles = ["trace", "events", "findings", "price, ms", "what-if, ms"]
    page = head + "\n" + table(titles, rows(results))
    page += "\n## t(4N)/t(N)\n\nN is the trace repeated 4 times; 4 is linear.\n\n"
    page += table(["trace", "price", "what-if", "findings"], growth(results))
    (RESULTS / "replay_speed.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
