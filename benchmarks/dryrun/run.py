# SPDX-License-Identifier: BSD-3-Clause
"""run.py: how near the dry run's estimates come to published traces; what it costs.

    python -m benchmarks.dryrun.run [--traces FOLDER] [--no-costs]

Writes results/dryrun.json and results/dryrun_accuracy.md. Traces that are not
in the folder are left out; tests/data has two of them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from benchmarks import DATA, RESULTS
from benchmarks.dryrun import kernel_errors, whole_programs
from benchmarks.dryrun.overhead import costs
from benchmarks.lab import pages
from torchtraceap_dryrun.estimate.kernel_time import CLASSES

KEPT = RESULTS / "dryrun.json"
#: In the order in which the page lists them.
TRACES = (
    kernel_errors.VIT, kernel_errors.BERT, kernel_errors.QWEN, kernel_errors.OWL,
    kernel_errors.RESNET, kernel_errors.RANKING_A100, kernel_errors.RANKING_V100,
)  # fmt: skip


def main() -> None:
    """Compare, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=DATA)
    parser.add_argument("--no-costs", action="store_true", help="keep those measured")
    options = parser.parse_args()
    machine = pages.machine()
    found = [options.traces / f"{name}.json.gz" for name in TRACES]
    results = {
        "machine": machine,
        "torch": torch.__version__,
        "kernels": [kernel_errors.errors(path) for path in found if path.exists()],
        "programs": whole_programs.compare(options.traces),
        "costs": json.loads(KEPT.read_text())["costs"] if options.no_costs else costs(),
    }
    print(pages.write("dryrun_accuracy", results))


def classes(results: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of all classes, those in sample first, and the constants."""
    rows = [
        {"trace": t["trace"], **row} for t in results["kernels"] for row in t["classes"]
    ]
    rows.sort(key=lambda row: (row["class"], not row["fitted"]))
    return {"rows": rows, "constants": CLASSES}


if __name__ == "__main__":
    main()
