# SPDX-License-Identifier: BSD-3-Clause
"""run.py: the cost of each integration, as pairs of runs with and without it.

    python -m benchmarks.integrations.run [--pairs N] [--page] [CASE...]

Prints a row for each case; with --page it writes results/integrations.json and the
page, in which unselected cases stay. Each case is measured in a process of
its own (three minutes for all), so that no library changes how another one runs.

A new case is a line in a table of cases: trainers.py and destinations.py have them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import subprocess
import sys
import warnings
from typing import Any

import torch

from benchmarks import RESULTS, ROOT
from benchmarks.integrations import destinations, trainers
from benchmarks.integrations.pair_cost import added, measured, ratio
from benchmarks.lab import pages

KEPT = RESULTS / "integrations.json"
CASES = {case.name: case for case in [*trainers.CASES, *destinations.CASES]}


def alone(name: str, pairs: int) -> None:
    """Measure one case, and print its phases as JSON, on the last line."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        phases = measured(CASES[name], pairs)
    rounded = {
        phase: [[round(time, 4) for time in pair] for pair in found]
        for phase, found in phases.items()
    }
    print("\n" + json.dumps(rounded))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--page", action="store_true", help="write JSON and the page")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone, options.pairs)
        return
    machine = pages.machine() | {"torch": torch.__version__}
    results = json.loads(KEPT.read_text()) if KEPT.exists() else {"cases": {}}
    for name in options.cases or CASES:
        case = CASES[name]
        if case.needs and importlib.util.find_spec(case.needs) is None:
            print(f"{name}: skipped, as {case.needs} is not installed")
            continue
        command = [sys.executable, "-m", "benchmarks.integrations.run", "--alone", name]
        ran = subprocess.run(
            [*command, "--pairs", str(options.pairs)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if ran.returncode:
            sys.exit(f"{name}: {ran.stderr[-3000:]}")
        phases = json.loads(ran.stdout.splitlines()[-1])
        results["cases"][name] = {"what": case.what, "phases": phases}
        shown = (f"{p} {ratio(found).median:.3f}" for p, found in phases.items())
        print(f"{name}: {', '.join(shown)}", flush=True)
    results["machine"] = machine
    results["cases"] = {n: results["cases"][n] for n in CASES if n in results["cases"]}
    if options.page:
        pages.write("integrations", results)


def costs(_: dict[str, Any]) -> dict[str, Any]:
    """Return what the page reads its pairs with."""
    return {"schedule": trainers.SCHEDULE, "added": added, "ratio": ratio}


if __name__ == "__main__":
    main()
