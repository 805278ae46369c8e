# SPDX-License-Identifier: BSD-3-Clause
"""test_budget.py: a budget says what it is held to say, of every kind of trace."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.budget import Budget, read_budget


def broken(budget: dict[str, object], report: torchtraceap.Report) -> list[str]:
    """Return the limits that a report breaks."""
    return [violation.limit for violation in read_budget(budget).check(report)]


def test_what_is_within_passes(slow_loader: torchtraceap.Report) -> None:
    budget = {
        "min_quality": "ok",
        "min_busy": 0.5,
        "max_gap_us": 1e6,
        "max_wasted_share": 1,
        "patterns": {"sync_stall": {"max_count": 0}, "*": {"max_share": 0.9}},
    }
    assert read_budget(budget).check(slow_loader) == ()
    assert Budget().check(slow_loader) == ()


def test_what_is_over_names_the_line(slow_loader: torchtraceap.Report) -> None:
    budget = read_budget({"patterns": {"dataloader_bound": {"max_count": 0}}})
    (violation,) = budget.check(slow_loader)
    assert violation.limit == "patterns.dataloader_bound.max_count"
    assert (violation.allowed, violation.found, violation.known) == (0, 6, True)
    assert str(violation.location) == "resnet50_profiler_api.py:42"
    assert violation.finding is not None
    assert violation.finding.pattern == "dataloader_bound"
    assert violation.message.startswith("resnet50_profiler_api.py:42: ")


def test_what_cannot_be_told_is_told(cpu_only: torchtraceap.Report) -> None:
    budget = {"min_busy": 0.0, "max_gap_us": 1e9, "max_step_us": 1e9}
    violations = read_budget(budget).check(cpu_only)
    assert [(v.limit, v.known) for v in violations] == [
        ("max_gap_us", False),
        ("min_busy", False),
        ("max_step_us", False),
    ]
    assert broken({**budget, "unknown": "pass"}, cpu_only) == []


def test_of_pyproject_the_section_counts(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.torchtraceap.budget]\nmin_busy = 0.5\n")
    assert read_budget(path) == Budget(min_busy=0.5)
    path.write_text("[tool.torchtraceap.patterns.sync_stall]\nmin_share = 0.5\n")
    with pytest.raises(torchtraceap.ConfigError, match=r"tool\.torchtraceap\.budget"):
        read_budget(path)
