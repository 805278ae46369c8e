# SPDX-License-Identifier: BSD-3-Clause
"""run.py: what the analysis costs beside the load, and how it grows with the trace.

    python -m benchmarks.analysis.run [--quick] [--traces FOLDER]

All that `analyze` does (links, timeline, quality, every rule, balance, windows) on the
largest public traces, as JSON and as gzip, against loading them with one thread; then
t(4N)/t(N) for a real trace repeated, and for hostile kinds. Writes
results/analysis.json and results/analysis_cost.md; --quick only prints. Builds
and keeps everything where benchmarks/loader does, and needs what that needs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import DATA, RESULTS, ROOT, TRACES
from benchmarks.analysis import cost_page
from benchmarks.analysis.repeat import write_repeated
from benchmarks.loader import environments
from benchmarks.loader.make_inputs import default_folder

LARGEST = 4  # traces; loading smaller ones takes too little to be measured well
REPEATED = 600_000  # bytes of gzip at most: four times that is repeated


def inputs(folder: Path, traces: list[Path]) -> list[tuple[Path, Path]]:
    """Return each trace as JSON and as its owner gzipped it."""
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for path in traces:
        raw = folder / path.name.removesuffix(".gz")
        if not raw.exists() or raw.stat().st_mtime < path.stat().st_mtime:
            raw.write_bytes(gzip.decompress(path.read_bytes()))
        out.append((raw, path))
    return out


def repeated(folder: Path, path: Path) -> tuple[Path, Path]:
    """Return a trace four times over, and sixteen times."""
    stem = path.name.removesuffix(".json.gz")
    out = []
    for number, times in ((1, 4), (4, 16)):
        target = folder / f"{stem} x4.{number}.json"
        write_repeated(path, times, target)
        out.append(target)
    return out[0], out[1]


def main() -> None:
    """Build, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds; only print")
    parser.add_argument("--traces", type=Path, default=TRACES)
    options = parser.parse_args()
    began = time.perf_counter()
    machine = environments.machine()
    folder = default_folder()
    _, package = environments.build(folder)
    python, missing = environments.environment(folder, "ours")
    if missing:
        sys.exit(f"cannot install {missing}")
    found = [*options.traces.glob("*.json.gz")]
    found = found or [*DATA.glob("*.json.gz")]
    found.sort(key=lambda path: path.stat().st_size, reverse=True)
    rounds, scale = ("3", "0.5") if options.quick else ("9", "1")
    command = [str(python), "-m", "benchmarks.analysis.measure", rounds, scale]
    where = folder / "analysis"
    for pair in inputs(where, found[:LARGEST]):
        command += ["--trace", *map(str, pair)]
    middle = next(p for p in found if p.stat().st_size <= REPEATED)
    command += ["--pair", *map(str, repeated(where, middle))]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "0"},
    )
    results: dict[str, Any] = {"machine": machine, "versions": {}}
    results |= json.loads(done.stdout)
    results["machine"]["load_after"] = os.getloadavg()[0]
    results["machine"]["seconds"] = round(time.perf_counter() - began)
    results["targets"] = cost_page.targets(results)
    text = cost_page.page(results)
    if options.quick:
        print(text)
        return
    kept = RESULTS / "analysis.json"
    kept.write_text(json.dumps(results, indent=1) + "\n")
    (RESULTS / "analysis_cost.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
