# SPDX-License-Identifier: BSD-3-Clause
"""test_traces.py: what must hold for every real trace there is.

test_loader.py compares the events themselves with Python's json.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.views.inspection import inspect_trace
from torchtraceap.views.stretches import labeled_stretches

from .real_traces import PATHS


class Case(NamedTuple):
    """A trace and its report."""

    trace: torchtraceap.Trace
    report: torchtraceap.Report


@pytest.fixture(scope="module", params=sorted(PATHS))
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """Loads and analyses each file once, and lets go of it."""
    trace = torchtraceap.load(PATHS[request.param])
    yield Case(trace, torchtraceap.analyze(trace))


def test_every_event_is_counted(case: Case) -> None:
    facts = inspect_trace(case.trace)
    assert facts["events"] == sum(facts["phases"].values()) == len(case.trace)
    assert facts["x"] == sum(facts["categories"].values())
    assert case.report.trace.events == len(case.trace) > 0
    assert sum(d.events for d in case.report.trace.devices) <= facts["x"]


def test_the_balance_closes_to_the_nanosecond(case: Case) -> None:
    for row in case.report.core.balance:
        parts = row.busy_ns + sum(row.idle_ns.values()) + row.unattributed_ns
        assert parts == row.span_ns
        assert min(row.busy_ns, row.unattributed_ns, *row.idle_ns.values()) >= 0


def test_each_busy_moment_is_in_one_row_of_aligned_operators(case: Case) -> None:
    core = case.report.core
    calls = core.call_tree()
    aligned = _core.align(calls, calls)
    devices = [row for row in core.balance if row.devices]
    units = max(1, len(devices)) * (case.report.step_count or 1)
    assert aligned.per_step == (case.report.step_count > 0)
    for total, of in (
        (aligned.before_ns, [row.before for row in aligned.rows]),
        (aligned.after_ns, [row.after for row in aligned.rows]),
    ):
        assert total == sum(side.device_ns for side in of if side)
        if core.balance:  # Empty for an unusable trace.
            assert total == sum(row.busy_ns for row in devices) // units
    assert not any(row.difference_ns or row.slower for row in aligned.rows)
    assert aligned.same_kernels in (None, 1.0)


def test_windows_tile_the_span_of_each_device(case: Case) -> None:
    facts = case.report.core.trace
    windows = case.report.core.windows
    tiled = {
        device: [(w.start_ns, w.end_ns) for w in of_device]
        for device, of_device in itertools.groupby(windows, lambda w: w.device)
    }
    assert len(windows) == sum(map(len, tiled.values()))
    for tiles in tiled.values():
        assert tiles[0][0] == facts.start_ns
        assert tiles[-1][1] == facts.end_ns
        assert all(begin < end for begin, end in tiles)
        assert all(a[1] == b[0] for a, b in itertools.pairwise(tiles))
    working = {device.id for device in case.report.trace.working_devices}
    if facts.end_ns > facts.start_ns:
        assert {w.device for w in case.report.windows} == (working or {None})


def test_labels_and_findings_agree_with_the_windows(case: Case) -> None:
    report = case.report
    for window, row in zip(report.windows, report.core.windows, strict=True):
        assert all(0 <= label.saved_fraction <= 1 for label in window.labels)
        wasted = [label.wasted_us for label in window.labels]
        length_us = window.end_us - window.start_us
        assert sum(wasted) <= length_us + 1e-3
        savings = [label.saved_fraction for label in window.labels]
        assert savings == sorted(savings, reverse=True)
        assert window.saved_us == pytest.approx(
            max(savings, default=0.0) * window.duration_us
        )
        # Own parts, which add up to those of the sides.
        for side in ("cpu", "gpu"):
            own = [x for x in window.labels if x.side == side]
            for label in own:
                part = 1e3 * label.wasted_us / (row.end_ns - row.start_ns)
                assert label.wasted_fraction == pytest.approx(part, abs=1e-9)
            assert getattr(window, f"{side}_wasted_fraction") == pytest.approx(
                sum(label.wasted_fraction for label in own), abs=1e-9
            )
        if report.recovery.refusal:  # nothing was replayed
            assert all(x.saved_fraction == x.wasted_fraction for x in window.labels)
    for finding in report.findings:
        assert finding.count > 0 and finding.wasted_us > 0 and finding.events
        for index in finding.windows:
            labels = {label.pattern for label in report.windows[index].labels}
            assert finding.pattern in labels
    ids = [finding.id for finding in report.findings]
    assert len(set(ids)) == len(ids)


def test_windows_are_listed_by_what_a_fix_saves(case: Case) -> None:
    stretches = labeled_stretches(case.report)
    savings = [stretch.saved_us for stretch in stretches]
    assert savings == sorted(savings, reverse=True)
    for stretch in stretches:
        by_pattern: dict[str, float] = {}
        for window in stretch.windows:
            for label in window.rule_labels:
                us = label.saved_fraction * window.duration_us
                by_pattern[label.pattern] = by_pattern.get(label.pattern, 0.0) + us
        assert stretch.saved_us == pytest.approx(max(by_pattern.values()))


def test_gains_of_windows_add_up(case: Case) -> None:
    """Of each device, or process if none worked, to the gain of all fixes together."""
    recovery = case.report.recovery
    if recovery.together is None or not recovery.windows:
        return
    saved: dict[tuple[object, object], float] = {}
    windows = case.report.rule_windows
    for window, share in zip(windows, recovery.windows, strict=True):
        assert 0 <= share <= 1
        of = (window.device, window.pid)
        saved[of] = saved.get(of, 0.0) + share * (window.end_us - window.start_us)
    joint = recovery.together.replayed_us
    # A window cannot lose more than it has: the rest is of no window.
    assert all(0.99 * joint <= one <= joint + 1 for one in saved.values())


def test_trees_hang_together(case: Case) -> None:
    for window in case.report.windows[:3]:
        nodes = [node for root in case.report.tree(window) for node in root.walk()]
        assert len({node.index for node in nodes}) == len(nodes)
        assert all(node.name for node in nodes)


def test_the_summary_says_something_sensible(case: Case) -> None:
    report = case.report
    text = report.summary(windows=5)
    assert report.trace.path in text
    assert text.replace("\n", "").isprintable()
    if not report.trace.working_devices:
        assert [row.device for row in report.balance] in ([], [None])
        assert "idle" not in text.lower()
        assert "busy" not in text.split("Windows", 1)[0]
    if report.trace.devices and not report.trace.working_devices:
        assert report.quality.verdict != "ok"
    if report.quality.verdict != "ok":
        assert f"Quality: {report.quality.verdict}" in text
