# SPDX-License-Identifier: BSD-3-Clause
"""test_budget.py: a budget says what it is held to say, of every kind of trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.gate.budget import Budget, read_budget
from torchtraceap.gate.budget_data import Violation

from .raw_trace import read_events
from .trace_builder import launched, loader_trace, report_of


def check(report: torchtraceap.Report, limits: dict[str, Any]) -> tuple[Violation, ...]:
    return read_budget(limits).check(report)


def test_what_is_within_passes(slow_loader: torchtraceap.Report) -> None:
    limits = {
        "min_quality": "ok",
        "min_busy": 0.5,
        "max_gap_us": 1e6,
        "max_wasted_share": 1,
        "patterns": {"sync_stall": {"max_count": 0}, "*": {"max_share": 0.9}},
    }
    assert check(slow_loader, limits) == ()
    assert Budget().check(slow_loader) == ()


def test_what_is_over_names_the_line(slow_loader: torchtraceap.Report) -> None:
    limits = {"patterns": {"dataloader_bound": {"max_count": 0}}}
    (violation,) = check(slow_loader, limits)
    assert violation.limit == "patterns.dataloader_bound.max_count"
    assert (violation.allowed, violation.found, violation.known) == (0, 6, True)
    assert str(violation.location) == "resnet50_profiler_api.py:42"
    assert violation.finding is not None
    assert violation.finding.pattern == "dataloader_bound"
    assert violation.findings == (violation.finding,)
    assert violation.message.startswith("resnet50_profiler_api.py:42: ")
    assert "\n" not in violation.message


def test_another_stream_ends_no_pause_early() -> None:
    """A device pauses when nothing runs on any stream; one kernel here ends within
    another, 900 us before that."""
    report = report_of(
        *launched(1, 0, 20, 1000),
        *launched(2, 50, 70, 100, stream=8),
        *launched(3, 1600, 1620, 400),
        *launched(4, 2100, 2120, 100, stream=8),
    )
    (violation,) = check(report, {"max_gap_us": 0})
    assert violation.found == 600
    assert "paused for 600 µs from +1.02 ms" in violation.message


def test_each_device_is_held_to_be_busy(slow_loader: torchtraceap.Report) -> None:
    busy = slow_loader.balance[0].busy_fraction
    assert check(slow_loader, {"min_busy": busy}) == ()
    (violation,) = check(slow_loader, {"min_busy": busy + 1e-6})
    assert violation.found == busy
    assert "device 0 was busy for 56.6 % of 1.07 s" in violation.message


def test_steps(slow_loader: torchtraceap.Report) -> None:
    times = sorted(
        (event.end - event.begin) / 1000
        for event in read_events(Path(slow_loader.trace.path))
        if event.name.startswith("ProfilerStep#")
    )
    assert len(times) == 6
    middle = (times[2] + times[3]) / 2
    for key, value in (("max_step_us", times[-1]), ("max_median_step_us", middle)):
        assert check(slow_loader, {key: value + 1}) == ()
        (violation,) = check(slow_loader, {key: value - 1})
        assert violation.found == pytest.approx(value, abs=0.001)
    assert slow_loader.kernel_counts.steps is not None
    most = slow_loader.kernel_counts.steps.max
    assert check(slow_loader, {"max_kernels_per_step": most}) == ()
    (violation,) = check(slow_loader, {"max_kernels_per_step": most - 1})
    assert violation.found == most


def test_waste(slow_loader: torchtraceap.Report) -> None:
    whole = sum(f.wasted_us for f in slow_loader.findings)
    share = whole / slow_loader.trace.device_time_us
    assert check(slow_loader, {"max_wasted_share": share + 1e-9}) == ()
    (violation,) = check(slow_loader, {"max_wasted_share": share - 1e-9})
    assert set(violation.findings) == set(slow_loader.findings)
    graph = [f for f in slow_loader.findings if f.pattern == "missed_cuda_graph"]
    wasted = sum(f.wasted_us for f in graph)
    count = sum(f.count for f in graph)
    limits = {"max_wasted_us": wasted - 1, "max_count": count - 1, "max_share": 0.05}
    found = check(slow_loader, {"patterns": {"missed_cuda_graph": limits}})
    assert [(v.limit.rpartition(".")[2], v.found) for v in found] == [
        ("max_count", count),
        ("max_wasted_us", pytest.approx(wasted)),
        ("max_share", pytest.approx(wasted / slow_loader.trace.device_time_us)),
    ]
    assert set(found[0].findings) == set(graph)


@pytest.mark.parametrize(
    "allowed",
    [
        "resnet50_profiler_api.py",
        "resnet50_profiler_api.py:42",
        "resnet50_profiler_api.py:<module>",
        "resnet50*",
        "single_process",
        "enumerate(DataLoader)#*",
        "dataloader_bound-*",
    ],
)
def test_what_is_allowed(allowed: str, slow_loader: torchtraceap.Report) -> None:
    for section in ("dataloader_bound", "*"):
        limits = {"patterns": {"dataloader_bound": {"max_count": 0}, "*": {}}}
        limits["patterns"][section] = {
            **limits["patterns"][section],
            "allow": [allowed],
        }
        assert check(slow_loader, limits) == ()
    limits["patterns"]["*"]["allow"] = [allowed.replace("e", "x"), "42"]
    assert len(check(slow_loader, limits)) == 1


def test_a_pattern_of_its_own_limits_is_no_other(
    slow_loader: torchtraceap.Report,
) -> None:
    limits = {
        "patterns": {"*": {"max_count": 1500}, "missed_cuda_graph": {"max_count": 2000}}
    }
    assert check(slow_loader, limits) == ()
    limits["patterns"]["*"] = {"max_count": 5}
    found = check(slow_loader, limits)
    assert {v.limit for v in found} == {"patterns.*.max_count"}
    patterns = {v.finding.pattern for v in found if v.finding}
    assert patterns == {f.pattern for f in slow_loader.findings} - {"missed_cuda_graph"}


EVERY_LIMIT: dict[str, Any] = {
    "max_gap_us": 1e12,
    "min_busy": 0,
    "max_step_us": 1e12,
    "max_median_step_us": 1e12,
    "max_kernels_per_step": 1e12,
    "max_wasted_share": 1,
    "patterns": {"sync_stall": {"max_count": 1e12}, "*": {"max_count": 1e12}},
}


def untold(report: torchtraceap.Report) -> set[str]:
    """Return the limits that are undetermined, where none is broken."""
    found = check(report, EVERY_LIMIT)
    assert not any(v.known for v in found)
    assert all("is undetermined" in v.message for v in found)
    assert check(report, {**EVERY_LIMIT, "unknown": "pass"}) == ()
    return {v.limit for v in found}


def test_what_cannot_be_told_is_no_pass(
    data: Path, cpu_only: torchtraceap.Report, slow_loader: torchtraceap.Report
) -> None:
    lines = {name for name, _ in read_budget(EVERY_LIMIT).lines()}
    assert len(lines) == 8
    unusable = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    assert untold(unusable) == lines
    assert untold(slow_loader) == set()
    assert untold(cpu_only) == lines - {"max_wasted_share"}
    lossy = torchtraceap.analyze(data / "truncated-handmade-no-schema.json.gz")
    assert untold(lossy) == lines - {
        # What is missing makes pauses shorter and busy time longer, never the reverse,
        "max_gap_us",
        "min_busy",
        # and is none of the host's.
        "max_step_us",
        "max_median_step_us",
    }
    found = check(lossy, {"max_gap_us": 1, "min_busy": 1})
    assert [v.known for v in found] == [False, False]


def test_of_a_pattern_that_was_found_no_device_is_needed(data: Path) -> None:
    report = torchtraceap.analyze(data / "cpu-laptop-vae-python-stacks.json.gz")
    section = {"max_count": 10**6}
    assert check(report, {"patterns": {"dataloader_bound": section}}) == ()
    found = check(report, {"patterns": {"sync_stall": section}})
    assert [v.known for v in found] == [False]


def test_that_no_pattern_is_there_needs_a_device(
    cpu_only: torchtraceap.Report, slow_loader: torchtraceap.Report
) -> None:
    """Of all that only device work shows, one violation tells how many they are."""
    shown = [p for p in torchtraceap._core.patterns() if p.user_finding]
    of_device = [p.name for p in shown if not p.on_host]
    named = {name: {"over_us": 10} for name in of_device}
    for patterns in ({}, {"sync_stall": {"over_us": 10}}, named):
        limits = {"patterns": {**patterns, "*": {"max_count": 10**6}}}
        (untold,) = check(cpu_only, limits)
        assert (untold.limit, untold.known) == ("patterns.*.max_count", False)
        assert f"in which {len(of_device)} patterns would show" in untold.message
        assert check(slow_loader, limits) == ()
    # Those of the host are known to be few; one that has a limit tells for itself.
    own = {name: {"max_count": 10**6} for name in of_device}
    found = check(cpu_only, {"patterns": {**own, "*": {"max_count": 10**6}}})
    assert [v.limit for v in found] == [f"patterns.{n}.max_count" for n in of_device]
    # What is there breaks the limit all the same.
    found = check(cpu_only, {"patterns": {"*": {"max_count": 0}}})
    assert {v.known for v in found} == {bool(cpu_only.findings), False}


def test_quality(data: Path, slow_loader: torchtraceap.Report) -> None:
    lossy = torchtraceap.analyze(data / "truncated-handmade-no-schema.json.gz")
    unusable = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    for report, rank in ((slow_loader, 0), (lossy, 1), (unusable, 2)):
        for least, verdict in enumerate(("ok", "degraded", "unusable")):
            found = check(report, {"min_quality": verdict})
            assert bool(found) == (rank > least)
            assert all(v.known and v.allowed == verdict for v in found)


def test_what_is_known_to_break_a_limit_never_passes(
    slow_loader: torchtraceap.Report,
) -> None:
    from torchtraceap.gate.checks import check_report

    budget = read_budget({"min_busy": 1, "max_gap_us": 1e9, "unknown": "pass"})
    (broken,) = check_report(slow_loader, budget).broken
    assert broken.limit == "min_busy"


def test_another_device_ends_no_pause() -> None:
    """One works while the other pauses, for 900 us."""
    report = report_of(
        *launched(1, 0, 20, 100),
        *launched(2, 100, 120, 900, device=1),
        *launched(3, 1000, 1020, 100),
    )
    (violation,) = check(report, {"max_gap_us": 0})
    assert (violation.known, violation.found) == (True, 900)
    assert "device 0 paused for 900 µs" in violation.message


def test_an_occurrence_that_costs_just_as_much_counts() -> None:
    report = torchtraceap.analyze(loader_trace(waits_us=[5000] * 3))
    for over, count in ((5000, 3), (5000.001, 0)):
        section = {"max_count": 0, "over_us": over}
        found = check(report, {"patterns": {"dataloader_bound": section}})
        assert [v.found for v in found] == ([count] if count else [])
