# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/perturbation/parts.py: which part of a large trace is taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from torchtraceap import load

#: Events of a run, about: more make a corpus large, not varied.
MOST_EVENTS = 30_000
_STEP = re.compile(r"ProfilerStep#(\d+)")


def draw_part(path: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Return options of ``load`` that take a part of a trace of about MOST_EVENTS: some
    of its steps, else a stretch of its time. Empty if it has no more.

    Raises:
        TraceError: It cannot be read.
    """
    trace = load(str(path))
    c = trace.columns
    lasts = c["phase"] == b"X"
    count = int(lasts.sum())
    if count <= MOST_EVENTS:
        return {}
    found = (_STEP.fullmatch(name) for name in trace.strings)
    steps = sorted({int(match[1]) for match in found if match})
    if len(steps) > 1 and count / len(steps) <= MOST_EVENTS:
        taken = max(1, int(MOST_EVENTS * len(steps) / count))
        first = int(rng.integers(len(steps) - taken + 1))
        return {"steps": (steps[first], steps[first + taken - 1])}
    starts = np.sort(c["ts"][lasts])
    first = int(rng.integers(count - MOST_EVENTS))
    begin, end = starts[first], starts[first + MOST_EVENTS - 1]
    return {"time_range_us": (float(begin) / 1e3, float(end) / 1e3)}


def name_of(part: dict[str, Any]) -> str:
    """Return a short name of a part, for names of runs."""
    if "steps" in part:
        return "s{}-{}".format(*part["steps"])
    if "time_range_us" in part:
        return f"t{int(part['time_range_us'][0]) % 1_000_000_000}"
    return "all"
