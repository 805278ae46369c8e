# SPDX-License-Identifier: BSD-3-Clause
"""test_features_invariance.py: what has no part in the arrays of a report."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torchtraceap import Report, analyze

from .trace_builder import kernel, launch, op, report_of

#: Small enough to be written and read again.
SMALL = [
    path
    for path in sorted((Path(__file__).resolve().parents[1] / "data").glob("*.json.gz"))
    if path.stat().st_size < 200_000
]


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


#: Of a window, what may differ by so much where the order of the file says which of two
#: events encloses the other: whose time it is, and what repeats.
TWINS_MOVE = {
    "repeats": 0.1,
    "matrix_time": 0.05,
    "elementwise_time": 0.05,
    "op_copy_time": 0.05,
}
#: The same of tokens: the share of those for which it may be another one's.
TWINS_SWAP = dict.fromkeys(
    ("kind", "duration_ratio", "repeats", *(f"piece{i}" for i in range(6))), 0.01
)


def same(one: Report, other: Report, twins: bool = False) -> None:
    """Whether all values are the same; of twins, those that they have no part in."""
    a, b = one.features(), other.features()
    for name, left, right in zip(a.columns, a.windows.T, b.windows.T, strict=True):
        most = TWINS_MOVE.get(name, 0) if twins else 0
        assert np.allclose(left, right, rtol=0, atol=most, equal_nan=True), name
    assert np.array_equal(a.token_begin, b.token_begin)
    for name, values in a.tokens.items():
        most = TWINS_SWAP.get(name, 0) if twins else 0
        assert (values != b.tokens[name]).mean() <= most, name


def twins(events: list[Any]) -> bool:
    """Whether two events of a thread begin and end together: then the order of the file
    says which one encloses the other."""
    keys = [
        tuple(event.get(key) for key in ("cat", "pid", "tid", "ts", "dur"))
        for event in events
        if isinstance(event, dict) and event.get("ph") == "X"
    ]
    return len(set(keys)) < len(keys)


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_order_clock_and_numbers_decide_nothing(path: Path) -> None:
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
    except json.JSONDecodeError:
        pytest.skip("a trace that is no whole document")
    if isinstance(document, list):
        document = {"traceEvents": document}
    events = document["traceEvents"]

    def of(changed: list[Any]) -> Report:
        return analyze(json.dumps({**document, "traceEvents": changed}).encode())

    control = of(events)
    mixed = of(random.Random(7).sample(events, len(events)))
    same(control, mixed, twins(events))
    same(control, of([_later(event, 4096) for event in events]))


def _later(event: Any, us: int) -> Any:
    ts = event.get("ts") if isinstance(event, dict) else None
    if not isinstance(ts, int | float) or isinstance(ts, bool):
        return event
    return {**event, "ts": ts + us}


def test_other_pids_and_tids_say_the_same() -> None:
    def trace(pid: int, tid: int, device: int) -> Report:
        return report_of(
            op("aten::mm", 0, 30, pid=pid, tid=tid),
            launch(5, 1, pid=pid, tid=tid),
            kernel(20, 30, correlation=1, device=device),
        )

    same(trace(100, 1, 0), trace(7, 31, 3))


def test_merged_ranks_say_what_each_says_alone() -> None:
    def rank(label: str, slower: float) -> list[Any]:
        pid = f"{label} 4000"
        return [
            made
            for i in range(60)
            for made in (
                op("aten::mm", i * 1000, 900, pid=pid),
                launch(i * 1000 + 10, i + 1, pid=pid),
                kernel(i * 1000 + 50, slower, "k", correlation=i + 1, pid=f"{label} 0"),
            )
        ]

    fast, slow = rank("[TP00]", 300), rank("[TP01]", 600)
    both = report_of(*fast, *slow)
    features = both.features()
    assert {w.pid for w in both.windows} == {"[TP00] 4000", "[TP01] 4000"}
    # What is usual is so of the whole file, and its kernels have one name.
    shared = {"kernel_ratio_median", "kernel_ratio_p90"}
    for label, alone in (("[TP00]", fast), ("[TP01]", slow)):
        one = report_of(*alone).features()
        mine = [w.pid == f"{label} 4000" for w in both.windows]
        assert sum(mine) == len(one.windows) == 2
        for name, a, b in zip(
            one.columns, one.windows.T, features.windows[mine].T, strict=True
        ):
            if name not in shared and not name.startswith("cause_"):
                assert np.allclose(a, b, rtol=0, atol=1e-6, equal_nan=True), name
