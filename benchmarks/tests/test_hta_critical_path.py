# SPDX-License-Identifier: BSD-3-Clause
"""test_hta_critical_path.py: our critical paths against those that HTA gave.

HTA was asked once, and what it said is in ``results/hta_critical_path.json``
(results/agreement_critical_path.md). Where HTA has all it needs, and where both paths
were the same when recorded, ours must still be HTA's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from real_traces import PATHS, ROOT

pytestmark = pytest.mark.verify

RECORDED: dict[str, Any] = json.loads(
    (ROOT / "benchmarks" / "results" / "hta_critical_path.json").read_text()
)["traces"]
DEVICE = ("compute", "communication", "copies")
NEAR = 0.05  # of what is compared: less needs no reason
SAME = [
    (name, of)
    for name, row in sorted(RECORDED.items())
    for of in row["windows"]
    if row["replayable"] and of["same_us"] > (1 - NEAR) * of["compared_us"]
]
# HTA knows what a call waited for where the trace has rows that say so.
SYNCED = sorted(name for name, row in RECORDED.items() if row.get("work"))


def trace_or_skip(name: str) -> Path:
    """Return a trace's path."""
    if name not in PATHS:
        pytest.skip(f"{name} is not here")
    return PATHS[name]


def test_enough_was_compared() -> None:
    names = {path.name for path in (ROOT / "tests" / "data").glob("*.json.gz")}
    assert names <= set(RECORDED)
    assert sum(len(row["windows"]) for row in RECORDED.values()) > 60
    assert len(SAME) >= 3 and len(SYNCED) >= 2


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_difference_has_a_reason(name: str) -> None:
    row = RECORDED[name]
    assert row["windows"] or row["fails"]
    for of in row["windows"]:
        lacks = sum(of["theirs_lacks_us"].values())
        assert of["theirs_us"] + lacks == pytest.approx(of["window_us"], abs=0.1)
        reasons = of["reasons_us"]
        differ = of["compared_us"] - of["same_us"]
        assert sum(reasons.values()) == pytest.approx(differ, abs=0.1)
        assert reasons.get("other", 0.0) <= NEAR * of["compared_us"]


@pytest.mark.parametrize(
    ("name", "of"), SAME, ids=[f"{name}-{of['step']}" for name, of in SAME]
)
def test_paths_that_were_the_same_still_are(name: str, of: dict[str, Any]) -> None:
    if of["leads_to"] != "end":
        pytest.skip("not the path of the step itself")
    report = torchtraceap.analyze(trace_or_skip(name))
    (path,) = (p for p in report.critical_paths if p.step == of["step"])
    near = pytest.approx
    for category in DEVICE:
        theirs = of["theirs"].get(category, 0.0)
        assert path.by_category[category] == near(theirs, abs=NEAR * path.span_us)


@pytest.mark.parametrize("name", SYNCED)
def test_work_that_calls_waited_for_is_on_both_paths(name: str) -> None:
    trace = torchtraceap.load(trace_or_skip(name))
    report = torchtraceap.analyze(trace)
    columns, names = trace.columns, trace.strings
    ours = {
        (names[columns["name"][row]], int(columns["ts"][row])): end - begin
        for begin, end, _, kind, row in report.core_replay.path_segments(0)
        if kind == "work"
    }
    theirs = {(kernel, begin): ns for kernel, begin, ns in RECORDED[name]["work"]}
    both = set(ours) & set(theirs)
    for path in (ours, theirs):
        assert sum(path[of] for of in both) >= (1 - NEAR) * sum(path.values())
