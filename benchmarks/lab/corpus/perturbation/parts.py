# SPDX-License-Identifier: BSD-3-Clause
"""parts.py: which part of a large trace is taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from torchtraceap import _core, load

#: Events of a run, about: more make a corpus large, not varied.
MOST_EVENTS = 30_000
#: Taken whole where no part is accepted.
MOST_WHOLE = 80_000
_STEP = re.compile(r"ProfilerStep#(\d+)")


def draw_part(
    path: Path, rng: np.random.Generator, most: int = MOST_EVENTS
) -> dict[str, Any]:
    """Return options of ``load`` that take a part of a trace of about `most` events:
    some of its steps, else a stretch of its time. Empty if it has no more.

    Raises:
        TraceError: It cannot be read.
    """
    trace = load(str(path))
    c = trace.columns
    lasts = c["phase"] == b"X"
    count = int(lasts.sum())
    if count <= most:
        return {}
    found = (_STEP.fullmatch(name) for name in trace.strings)
    steps = sorted({int(match[1]) for match in found if match})
    if len(steps) > 1 and count / len(steps) <= most:
        taken = max(1, int(most * len(steps) / count))
        first = int(rng.integers(len(steps) - taken + 1))
        return {"steps": (steps[first], steps[first + taken - 1])}
    starts = np.sort(c["ts"][lasts])
    quiet = _quiet_moments(trace)
    at = np.searchsorted(starts, quiet)  # so many events begin before each
    for i in rng.permutation(len(quiet)):
        ends = np.flatnonzero((at > at[i] + most // 6) & (at <= at[i] + most))
        if len(ends):
            return {"time_range_us": (quiet[i] / 1e3, quiet[ends[-1]] / 1e3)}
    first = int(rng.integers(count - most))
    begin, end = starts[first], starts[first + most - 1]
    return {"time_range_us": (float(begin) / 1e3, float(end) / 1e3)}


def _quiet_moments(trace: _core.Trace) -> np.ndarray:
    # Begins of calls at which all work launched before had ended: a part between two
    # of them has all its work, and none of another.
    c = trace.columns
    names = np.array(trace.category_names)[c["category"]]
    timed = (c["phase"] == b"X") & (c["correlation"] >= 0)
    calls = np.flatnonzero(timed & np.isin(names, ("cuda_runtime", "cuda_driver")))
    work = np.flatnonzero(
        timed & np.isin(names, ("kernel", "gpu_memcpy", "gpu_memset"))
    )
    ended: dict[int, int] = {}
    for row in work:
        key = int(c["correlation"][row])
        ended[key] = max(ended.get(key, 0), int(c["ts"][row] + c["dur"][row]))
    calls = calls[np.argsort(c["ts"][calls], kind="stable")]
    begins = c["ts"][calls]
    done = np.array([ended.get(int(i), 0) for i in c["correlation"][calls]])
    done = np.maximum.accumulate(np.maximum(done, begins + c["dur"][calls]))
    return begins[1:][done[:-1] <= begins[1:]]


def name_of(part: dict[str, Any]) -> str:
    """Return a short name of a part, for names of runs."""
    if "steps" in part:
        return "s{}-{}".format(*part["steps"])
    if "time_range_us" in part:
        return f"t{int(part['time_range_us'][0]) % 1_000_000_000}"
    return "all"
