# SPDX-License-Identifier: BSD-3-Clause
"""run.py: the cost of the analysis next to the load, and its growth with the trace.

    python -m benchmarks.analysis.run [--quick] [--traces FOLDER]

All that `analyze` does (links, timeline, quality, every rule, balance, windows) on the
largest public traces, as JSON and as gzip, against loading them with one thread; then
t(4N)/t(N) for a real trace repeated, and for hostile kinds. Writes
results/analysis.json and results/analysis_cost.md; --quick only prints. Builds
and keeps everything where benchmarks/loader does, and has the same requirements.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import DATA, ROOT, TRACES
from benchmarks.analysis.repeat import write_repeated
from benchmarks.lab import pages
from benchmarks.lab.pages import Target
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
    machine = pages.machine()
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
    results["machine"]["seconds"] = round(time.perf_counter() - began)
    results["targets"] = [target.as_row() for target in targets(results)]
    if options.quick:
        print(pages.render(pages.page("analysis_cost"), results))
    else:
        print(pages.write("analysis_cost", results))


def ratios(results: dict[str, Any]) -> dict[str, Any]:
    """Return medians of load and analysis of each trace, in each form."""
    forms = {
        name: {
            form: (statistics.median(row["load"]), statistics.median(row["analysis"]))
            for form, row in of.items()
        }
        for name, of in results["traces"].items()
    }
    some = next(iter(next(iter(results["traces"].values())).values()))
    return {"ratios": forms, "rounds": len(some["load"])}


def targets(results: dict[str, Any]) -> Iterator[Target]:
    """Yield what is asked, beside what was measured."""
    found = ratios(results)["ratios"]
    for form in ("raw", "gzip"):
        what = f"analysis against load, {form}"
        of_form = {
            n: of[form][1] / of[form][0] for n, of in found.items() if form in of
        }
        worst = max(of_form, key=lambda name: of_form[name])
        middle = statistics.median(of_form.values())
        yield Target(f"{what}, median", middle, 1.0, 0.5, True)
        yield Target(f"{what}, worst ({worst})", of_form[worst], 1.0, 0.5, True)
    timed = [row for row in results["scaling"] if row["analysis"] is not None]
    most = max(timed, key=lambda row: row["analysis"])
    what = f"t(4N)/t(N), analysis, worst ({most['kind']})"
    yield Target(what, most["analysis"], 4.6, 4.2, True)


if __name__ == "__main__":
    main()
