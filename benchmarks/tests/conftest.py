# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: the benchmarks' own tests, all marked for `make verify`.

The folders beside this one hold scripts, whose modules are imported the way Python
imports them when a script is run: from its own folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "benchmarks" / of for of in ("", "corpus", "replay", "loader")]
FOLDERS += [
    ROOT / "benchmarks" / of
    for of in ("agreement", "blame", "detector", "explain", "integrations")
]
FOLDERS += [ROOT / "tests" / "python"]
# Behind all others: these folders are full of common names.
sys.path += map(str, FOLDERS)
# As of tests/python/conftest.py.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"
os.environ.setdefault("OMP_NUM_THREADS", "1")
