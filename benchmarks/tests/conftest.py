# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: the benchmarks' own tests, all marked for `make verify`.

The folders beside this one hold scripts, whose modules are imported the way Python
imports them when a script is run: from its own folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "benchmarks" / of for of in ("corpus", "replay", "loader")]
FOLDERS += [ROOT / "benchmarks" / "agreement", ROOT / "tests" / "python"]
# Behind all others: these folders are full of common names.
sys.path += map(str, FOLDERS)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Lets torch use one thread: tiny models gain nothing from more, which would wait
    for one another on a busy machine."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
