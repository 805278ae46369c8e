# SPDX-License-Identifier: BSD-3-Clause
"""test_device_time.py: sums of device time against Python's own, to the nanosecond.

slow_loader.py reads the JSON, slow_device_time.py adds up.
"""

from __future__ import annotations

import collections
from typing import NamedTuple

import pytest

import torchtraceap

from .real_traces import PATHS
from .slow_device_time import WORK, Work, common, length, union, work_of
from .slow_loader import SlowTrace, parse

LARGEST = 1_500_000  # bytes of gzip: Python's json takes a second for these
SMALL = [name for name, path in PATHS.items() if path.stat().st_size < LARGEST]


class Case(NamedTuple):
    """A trace as the core reads it, and its device work as Python does."""

    trace: torchtraceap.Trace
    report: torchtraceap.Report
    work: list[Work]

    @property
    def busy(self) -> dict[int, list[tuple[int, int]]]:
        of: dict[int, list[tuple[int, int]]] = collections.defaultdict(list)
        for event in self.work:
            of[event.device].append((event.begin, event.end))
        return {device: union(events) for device, events in of.items()}


@pytest.fixture(scope="module", params=sorted(SMALL))
def case(request: pytest.FixtureRequest) -> Case:
    content = PATHS[request.param].read_bytes()
    trace = torchtraceap.load(content)
    report = torchtraceap.analyze(trace)
    return Case(trace, report, work_of(SlowTrace(parse(content))))


def test_busy_and_idle_time_of_each_device(case: Case) -> None:
    facts = case.report._core.trace
    rows = {row.device: row for row in case.report._core.balance}
    if case.report.quality.verdict == "unusable":
        assert not rows
        return
    assert set(rows) == (set(case.busy) or {-1})
    for device, busy in case.busy.items():
        row = rows[device]
        assert facts.begin_ns <= busy[0][0] and busy[-1][1] <= facts.end_ns
        assert row.busy_ns == length(busy)
        idle = sum(row.idle_ns.values()) + row.unattributed_ns
        assert idle == facts.end_ns - facts.begin_ns - length(busy)


def test_number_of_events_of_each_device(case: Case) -> None:
    counted = collections.Counter(event.device for event in case.work)
    working = case.report.trace.working_devices
    assert {device.id: device.events for device in working} == counted


def test_sums_of_each_category(case: Case) -> None:
    expected: dict[tuple[int, str], list[int]] = {}
    for event in case.work:
        total = expected.setdefault((event.device, event.category), [0, 0])
        total[0] += 1
        total[1] += event.end - event.begin
    found: dict[tuple[int, str], list[int]] = {}
    columns, names = case.trace.columns, case.trace.category_names
    waits = [
        i
        for i, s in enumerate(case.trace.strings)
        if s in ("event_wait", "event_record")
    ]
    for device, category, name, phase, dur in zip(
        *(columns[c].tolist() for c in ("device", "category", "name")),
        columns["phase"].tobytes().decode("ascii"),
        columns["dur"].tolist(),
        strict=True,
    ):
        if phase == "X" and names[category] in WORK and name not in waits and dur >= 0:
            total = found.setdefault((device, names[category]), [0, 0])
            total[0] += 1
            total[1] += dur
    assert found == expected


def test_busy_time_of_each_step(case: Case) -> None:
    for step in case.report._core.steps:
        within = [(step.begin_ns, step.end_ns)]
        busy = sum(common(parts, within) for parts in case.busy.values())
        assert step.busy_ns == busy


def test_claims_lie_where_the_device_was_idle_or_busy(case: Case) -> None:
    """What costs idle time is idle, what costs excess time busy, and all of it once."""
    claims: dict[tuple[int, bool], list[tuple[int, int]]] = collections.defaultdict(
        list
    )
    for finding in case.report._core.findings:
        for claim in finding.claims:
            claims[claim.device, claim.idle].append((claim.begin, claim.end))
    for (device, idle), parts in claims.items():
        if device < 0:
            continue
        parts.sort()
        assert length(union(parts)) == length(parts)
        held = common(union(parts), case.busy[device])
        assert held == (0 if idle else length(parts))
