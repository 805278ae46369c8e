# SPDX-License-Identifier: BSD-3-Clause
"""inspection.py: what is in a trace file and what is odd about it, without analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from torchtraceap import _core
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align
from torchtraceap.base.units import time_text, us_from_ns

_MANY_KEYS = 24
# What ``gpu`` counts: the work that CUDA and ROCm record.
_GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def inspect_trace(trace: _core.Trace) -> dict[str, Any]:
    """Count the loaded events of a trace; times in nanoseconds, as in the file.

    ``x`` counts the events with a duration of their own (phase X). ``sum_dur_ns`` is
    the sum of their non-negative durations, ``min_ts_ns`` the earliest start among
    them (None: no start is known), ``gpu`` counts kernels, copies and memsets.
    ``left_out`` counts the events that the loading options left out. ``warnings`` are
    the loader's, ``quality`` is a report's verdict on all anomalies: only that needs
    the events laid out in time.
    """
    columns = trace.columns
    phase, category, ts, dur = (
        columns[name] for name in ("phase", "category", "ts", "dur")
    )
    x = phase == b"X"
    starts = ts[x & (ts != _core.NO_TIME)]
    names = _core.category_names()
    work = [names.index(name) for name in _GPU_WORK]
    by_category = np.bincount(category[x], minlength=len(names))
    order = np.argsort(-by_category, kind="stable")
    by_phase = {
        str(letter.decode("ascii", "backslashreplace")): int(count)
        for letter, count in zip(*np.unique(phase, return_counts=True), strict=True)
    }
    return {
        "path": trace.path,
        "text_bytes": trace.text_bytes,
        "events": len(trace),
        "left_out": trace.left_out,
        "x": int(np.count_nonzero(x)),
        "sum_dur_ns": _exact_sum(dur[x & (dur >= 0)]),
        "min_ts_ns": int(starts.min()) if starts.size else None,
        "gpu": int(by_category[work].sum()),
        "flow_s": by_phase.get("s", 0),
        "flow_f": by_phase.get("f", 0),
        "instants": by_phase.get("i", 0) + by_phase.get("I", 0),
        "metadata": by_phase.get("M", 0),
        "phases": by_phase,
        "categories": {names[i]: int(by_category[i]) for i in order if by_category[i]},
        "top_level": list(trace.metadata),
        "warnings": [
            {"kind": w.kind, "count": w.count, "detail": w.detail}
            for w in trace.warnings
        ],
        "quality": _core.judge(trace).to_dict(),
    }


def inspection_text(facts: dict[str, Any]) -> str:
    """Write what `inspect_trace` counted for people."""
    phases = [f"{printable(p)} {n:,}" for p, n in facts["phases"].items()]
    categories = [f"{name} {n:,}" for name, n in facts["categories"].items()]
    keys = [printable(key) for key in facts["top_level"]]
    if len(keys) > _MANY_KEYS:
        keys[_MANY_KEYS:] = [f"and {len(keys) - _MANY_KEYS} more"]
    quality = facts["quality"]
    left_out = [("left out", f"{n:,} events")] if (n := facts["left_out"]) else []
    rows = [
        ("events", f"{facts['events']:,} ({', '.join(phases)})"),
        *left_out,
        ("text", f"{facts['text_bytes']:,} bytes"),
        ("durations", f"{time_text(us_from_ns(facts['sum_dur_ns']))} together"),
        ("device work", f"{facts['gpu']:,} kernels, copies and memsets"),
        ("categories", ", ".join(categories) or "none"),
        ("metadata", ", ".join(keys) or "none"),
        ("quality", _verdict_text(quality)),
    ]
    lines = [printable(facts["path"]), *("  " + line for line in align(rows))]
    for note in quality["warnings"]:
        lines.append(
            f"  warning      {printable(note['kind'])} ×{note['count']:,}: "
            f"{printable(note['detail'])}"
        )
    return "\n".join(lines)


def _verdict_text(quality: dict[str, Any]) -> str:
    text = str(quality["verdict"])
    if reasons := [n["kind"] for n in quality["warnings"] if n["verdict"] != "ok"]:
        text += f", for {', '.join(map(printable, reasons))}"
    return text


def _exact_sum(values: npt.NDArray[np.int64]) -> int:
    # A few absurd durations would overflow 64 bits; two halves of 32 do not.
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
