#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""html_cost.py [--times N] TRACE...: the cost of an HTML report next to the analysis.

Prints a Markdown table. Times are CPU seconds of the process, the least of three runs:
of loading and analyzing with the printed summary, and of the page after that; without
the learned detector, see overhead/detector_speed.py. With ``--times`` each
trace is first repeated that many times, in a temporary file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torchtraceap
from benchmarks.lab import pages

_RUNS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    print("| trace | events | windows | findings | analysis | page | size |")
    print("|---|---|---|---|---|---|---|")
    for path in options.traces:
        with tempfile.TemporaryDirectory() as folder:
            trace, name = path, path.name.removesuffix(".json.gz")
            if options.times > 1:
                from benchmarks.analysis.repeat import write_repeated

                trace = Path(folder) / "repeated.json"
                write_repeated(path, options.times, trace)
                name += f", {options.times} times over"
            print(row(name, trace), flush=True)
    made = pages.machine()
    print(
        f"\n{made['processor']}, {made['cores']} cores, load average "
        f"{made['load_before']:.1f}, commit {made['commit']}"
    )


def row(name: str, trace: Path) -> str:
    """Return a line of the table."""
    analysis, page, size = [], [], 0
    for _ in range(_RUNS):
        begin = time.process_time()
        report = torchtraceap.analyze(trace, detector="off", progress=False)
        report.summary(windows=5)
        middle = time.process_time()
        size = len(report.to_html().encode())
        analysis.append(middle - begin)
        page.append(time.process_time() - middle)
    cells = (
        name,
        f"{report.trace.events:,}",
        f"{len(report.windows):,}",
        str(len(report.findings)),
        f"{min(analysis):.2f} s",
        f"{min(page):.2f} s",
        f"{size / 1000:.0f} kB",
    )
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
