# SPDX-License-Identifier: BSD-3-Clause
"""hta_traces.py: what both comparisons with HTA begin with: its Python, the traces."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environments
from make_inputs import default_folder

ROOT = environments.ROOT


def options_of(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the arguments, with those of every comparison."""
    shared = ROOT.parent / "shared" / "traces"
    parser.add_argument("--traces", type=Path, default=shared)
    parser.add_argument("--only", default="", help="part of a file's name")
    return parser.parse_args()


def hta_python() -> Path:
    """Return the Python of HTA's environment; ends the program if there is none."""
    python, missing = environments.environment(default_folder(), "tools")
    if missing:
        sys.exit(f"cannot install {missing}")
    return python


def traces(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the traces of the folder and of tests/data, the smallest first."""
    paths = {p.name: p for p in options.traces.glob("*.json.gz")}
    paths |= {p.name: p for p in (ROOT / "tests" / "data").glob("*.json.gz")}
    for path in sorted(paths.values(), key=lambda p: p.stat().st_size):
        if options.only in path.name:
            yield path


def results() -> dict[str, Any]:
    """Return what a file of results begins with."""
    return {"machine": environments.machine(), "hta": "0.5.0", "traces": {}}
