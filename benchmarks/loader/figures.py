# SPDX-License-Identifier: BSD-3-Clause
"""figures.py: the questions to every loader about a trace, and allowed differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


@dataclasses.dataclass
class Figures:
    """None where a loader does not keep what the figure needs."""

    events: int | None = None
    x: int | None = None  # phase X
    sum_dur_ns: int | None = None  # of those, where not negative
    min_ts_ns: int | None = None  # of those
    gpu: int | None = None  # of those, kernels, copies and memsets
    flow_s: int | None = None
    flow_f: int | None = None
    # Phase X without the profiler's own spans (category "Trace"): what HTA keeps.
    x_but_spans: int | None = None
    sum_dur_but_spans_ns: int | None = None

    def as_dict(self) -> dict[str, int]:
        """Return the figures that are known."""
        known = dataclasses.asdict(self).items()
        return {name: value for name, value in known if value is not None}


def exact_ns(us: Any) -> int:
    """Return nanoseconds: exact from text; from a float, to 1 ns below 2^42 us."""
    return round(Decimal(us) * 1000 if isinstance(us, str) else us * 1000)


def figures_of(events: Iterable[tuple[dict[str, Any], int]]) -> Figures:
    """Count events as dicts, each with how often it occurs."""
    n = dict.fromkeys((f.name for f in dataclasses.fields(Figures)), 0)
    starts = []
    for event, times in events:
        n["events"] += times
        phase, category = event["ph"], event.get("cat")
        if phase in "sf":
            n[f"flow_{phase}"] += times
        if phase != "X":
            continue
        dur = times * max(0, exact_ns(event.get("dur", 0)))
        n["x"] += times
        n["sum_dur_ns"] += dur
        if category != "Trace":
            n["x_but_spans"] += times
            n["sum_dur_but_spans_ns"] += dur
        if category in DEVICE_WORK:
            n["gpu"] += times
        if "ts" in event:
            starts.append(exact_ns(event["ts"]))
    return Figures(**{**n, "min_ts_ns": min(starts)})


def differences(
    truth: dict[str, int], found: dict[str, int], tolerance: dict[str, float]
) -> list[str]:
    """Say in which figures a loader is off, and by how much.

    Args:
        truth: All figures.
        found: Those the loader knows.
        tolerance: Nanoseconds by which a figure may differ, a part of them for each
            event of phase X where the name is a sum; counts must be equal.
    """
    out = []
    for name, value in found.items():
        allowed = tolerance.get(name, 0)
        if name.startswith("sum"):
            allowed *= truth["x"]
        if abs(value - truth[name]) > allowed:
            unit = " ns" if name.endswith("_ns") else ""
            out.append(
                f"{name}: {value:,}{unit} for {truth[name]:,}{unit}, "
                f"{value - truth[name]:+,}{unit}"
            )
    return out
