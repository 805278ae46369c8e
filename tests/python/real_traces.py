# SPDX-License-Identifier: BSD-3-Clause
"""real_traces.py: the real traces at hand: the repository's, and more beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PATHS = {
    path.name: path
    for folder in (ROOT.parent / "shared" / "traces", ROOT / "tests" / "data")
    for path in folder.glob("*.json.gz")
}
