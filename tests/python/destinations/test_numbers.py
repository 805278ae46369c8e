# SPDX-License-Identifier: BSD-3-Clause
"""test_numbers.py: a report as named numbers, and where it stands in a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.destination import Destination, tag
from torchtraceap.integrations.metrics import METRICS, OTHER, values_of

from ..trace_builder import report_of
from .reading import told


def test_the_numbers_are_those_of_the_report(slow_loader: torchtraceap.Report) -> None:
    numbers = told(slow_loader)
    (row,) = slow_loader.balance
    first = slow_loader.findings[0]
    assert first.pattern == "dataloader_bound" and first.recoverable_us
    expected = {
        "torchtraceap/trace_seconds": slow_loader.trace.span_us / 1e6,
        "torchtraceap/quality_level": 0,
        "torchtraceap_busy_ratio/0": row.busy_fraction,
        "torchtraceap_findings/missed_cuda_graph": 5,
        "torchtraceap_wasted_seconds/dataloader_bound": first.wasted_us / 1e6,
        "torchtraceap_recoverable_seconds/dataloader_bound": first.recoverable_us / 1e6,
    }
    assert {name: numbers[name] for name in expected} == pytest.approx(expected)
    idle = [v for name, v in numbers.items() if name.startswith("torchtraceap_idle_")]
    assert sum(idle) + row.busy_fraction == pytest.approx(1)


def test_what_is_not_known_is_not_told(
    cpu_only: torchtraceap.Report, unusable: torchtraceap.Report
) -> None:
    numbers = told(cpu_only)
    assert numbers["torchtraceap_busy_ratio/cpu"] > 0
    assert "torchtraceap/step_seconds" not in numbers  # it has no steps
    assert {*told(unusable)} == {
        "torchtraceap/trace_seconds",
        "torchtraceap/quality_level",
    }


def test_every_number_explains_itself(every: list[torchtraceap.Report]) -> None:
    seen = {v.metric.full_name for r in every for v in values_of(r, lines=3)}
    table = METRICS
    assert seen == {metric.full_name for metric in table}, "none is dead"
    assert len(seen) == len(table)
    for metric in table:
        assert metric.help and metric.unit in ("", "seconds", "ratio")
    for report in every:
        for value in values_of(report, lines=3):
            assert len(value.labels) == len(value.metric.labels)
            assert re.fullmatch(r"[\w./-]+", tag(value), re.ASCII)


def test_lines_are_bounded(slow_loader: torchtraceap.Report) -> None:
    def lines(most: int) -> dict[str, float]:
        values = values_of(slow_loader, most)
        return {v.labels[0]: v.value for v in values if v.metric.labels == ("line",)}

    assert lines(0) == {}
    whole = lines(100)
    two = lines(2)
    assert len(whole) > 3 and len(two) == 3
    assert sum(two.values()) == pytest.approx(sum(whole.values()))
    assert min(two, key=lambda line: two[line]) == OTHER


def test_devices_are_bounded() -> None:
    from ..trace_builder import launched, profiler_step

    events = [
        one
        for number in range(40)
        for one in launched(number + 1, 10 + number, 100, 500, device=number)
    ]
    report = report_of(profiler_step(1, 0, 900), *events)
    assert len(report.balance) == 40
    shares = {
        v.labels[0]: v.value
        for v in values_of(report)
        if v.metric.full_name == "busy_ratio"
    }
    assert len(shares) == 17 and 0 < shares[OTHER] <= 1


def test_processes_of_names_that_look_alike_have_tags_of_their_own() -> None:
    from ..trace_builder import op

    names = ["a b", "a_b", "A b", "a  b", "a-b", "ä", "ö", 7]
    report = report_of(*(op("x", 1, 2, pid=name) for name in names))
    tags = [tag(v) for v in values_of(report) if v.metric.full_name == "busy_ratio"]
    assert len({*tags}) == len(names)
    plain = {f"torchtraceap_busy_ratio/process_{name}" for name in ("a_b", "7")}
    assert plain < {*tags}
    assert all(re.fullmatch(r"[\w./-]+", tag, re.ASCII) for tag in tags)


def test_no_report_is_refused() -> None:
    with pytest.raises(TypeError, match=r"job.rank\(n\)\), not of type str"):
        list(values_of("trace.json"))


class Kept(Destination):
    """Keeps what it is given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps: list[int] = []
        self.names: list[set[str]] = []

    def _write(self, report: Any, values: Any, step: int) -> None:
        self.steps.append(step)
        self.names.append({tag(value) for value in values})


def test_the_step(
    slow_loader: torchtraceap.Report, cpu_only: torchtraceap.Report
) -> None:
    kept = Kept()
    for report in (cpu_only, slow_loader, cpu_only):
        kept(report)
    kept(cpu_only, 7)
    assert kept.steps == [0, slow_loader.steps[-1].number, 2, 7]
    numbers = iter((100, 200))
    kept = Kept(step=lambda: next(numbers))
    kept(slow_loader)
    kept(cpu_only)
    assert kept.steps == [100, 200]


def test_a_pattern_that_is_gone_is_told_at_0(
    slow_loader: torchtraceap.Report, cpu_only: torchtraceap.Report
) -> None:
    """Or a chart would go on showing its last value."""
    kept = Kept()
    for report in (cpu_only, slow_loader, cpu_only):
        kept(report)
    name = "torchtraceap_wasted_seconds/dataloader_bound"
    assert [name in names for names in kept.names] == [False, True, True]


def test_the_page_lists_every_number(root: Path) -> None:
    page = (root / "docs" / "integrations.md").read_text("utf-8")
    for metric in METRICS:
        row = f"| `{metric.full_name}` | {', '.join(metric.labels)} | {metric.help} |"
        assert row in page
