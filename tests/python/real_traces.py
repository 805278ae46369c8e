# SPDX-License-Identifier: BSD-3-Clause
"""real_traces.py: the available real traces: the repository's, and more beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
# More traces, kept outside the tree for their size; most machines do not have any.
SHARED = ROOT.parent / "shared" / "traces"

PATHS = {path.name: path for of in (SHARED, DATA) for path in of.glob("*.json.gz")}
# Python's json takes minutes and gigabytes for larger ones.
MOST_BYTES = 3_000_000
# One of each kind that differs in what is summed up; the others, under `make verify`.
FEW = {path.name for path in DATA.glob("*.json.gz")}
FEW -= {"kineto2021-v100-resnet50-workers4.json.gz"}
FEW |= {"mtia-inference-rank0.json.gz", "cpu-only-rank34of300.json.gz"}

# Those of the repository that load without `recover`, one of each kind.
SOUND = sorted(
    path
    for path in DATA.glob("*.json.gz")
    if path.name in FEW and not path.name.startswith("truncated")
)


def summed_up() -> list[Any]:
    """The names of traces for tests that count with Python what the core counts."""
    return [
        pytest.param(name, marks=[] if name in FEW else [pytest.mark.verify])
        for name, path in sorted(PATHS.items())
        if path.stat().st_size < MOST_BYTES
    ]
