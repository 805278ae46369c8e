# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: small fleets, and what is in a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..ranks.conftest import slow_job as slow_job
from ..ranks.rank_folder import put
from ..trace_builder import op, profiler_step, starved_events, trace_of

pytest.importorskip("pyarrow")

#: 2026-09-14, in nanoseconds since 1970.
BASE_NS = 1_789_344_000_000_000_000
DAY_NS = 86_400_000_000_000


def starved(steps: int = 4, day: int = 0, slow: float = 1, **top: Any) -> bytes:
    """A trace with steps of 10 ms times ``slow`` whose device waits for a loader,
    recorded on a day from 2026-09-14 on."""
    marks = [profiler_step(n, n * 10_000.0, 10_000) for n in range(steps)]
    events = [
        one | {"ts": one["ts"] * slow, "dur": one["dur"] * slow}
        for one in (*starved_events(steps), *marks)
    ]
    base = {"baseTimeNanoseconds": BASE_NS + day * DAY_NS}
    return trace_of(*events, **base, **top)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A folder of three traces of two programs, on two days."""
    folder = tmp_path / "nightly"
    put(folder / "2026-09-14/train/trace.json.gz", starved(commit="aaa1111"))
    put(folder / "2026-09-15/train/trace.json.gz", starved(day=1, commit="bbb2222"))
    put(folder / "2026-09-15/serve/trace.json", trace_of(op("aten::mm", 5, 9)))
    return folder


def read(out: Path, table: str = "traces") -> list[dict[str, Any]]:
    """The rows of a table of a data set as pyarrow reads them, by their traces."""
    import pyarrow.dataset as ds

    found = ds.dataset(out / table, partitioning="hive").to_table().to_pylist()
    return sorted(found, key=lambda row: str(row.get("url", row.get("trace"))))
