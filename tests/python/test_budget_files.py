# SPDX-License-Identifier: BSD-3-Clause
"""test_budget_files.py: a budget is read as it is written, and refused by name."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.gate.budget import Budget, read_budget
from torchtraceap.gate.budget_data import (
    LIMITS,
    PATTERN_LIMITS,
    RANK_LIMITS,
    PatternLimits,
)


def test_files(tmp_path: Path) -> None:
    section = "min_busy = 0.5\n[{0}patterns.sync_stall]\nmax_count = 3\n"
    expected = Budget(min_busy=0.5, patterns={"sync_stall": PatternLimits(max_count=3)})
    own = tmp_path / "budget.toml"
    own.write_text(section.format(""))
    assert read_budget(own) == read_budget(str(own)) == expected
    both = tmp_path / "settings.toml"
    both.write_text(
        "[patterns.sync_stall]\nmin_share = 0.5\n[budget]\n" + section.format("budget.")
    )
    assert read_budget(both) == expected
    project = tmp_path / "pyproject.toml"
    project.write_text(
        "[tool.torchtraceap.patterns.sync_stall]\nmin_share = 0.5\n"
        "[tool.torchtraceap.budget]\n" + section.format("tool.torchtraceap.budget.")
    )
    assert read_budget(project) == expected


def test_a_budget_is_no_setting(tmp_path: Path, data: Path) -> None:
    """One file may hold both; each reader takes its own."""
    both = tmp_path / "settings.toml"
    both.write_text("[budget]\nmin_busy = 0.5\n[patterns.sync_stall]\nenabled = false")
    tiny = data / "old-catnames-tiny-no-schema.json.gz"
    report = torchtraceap.analyze(tiny, config=both)
    assert report.settings == {"sync_stall": {"enabled": False}}


BAD = [
    ("min_bsy = 1", "unknown key; did you mean 'min_busy'?"),
    ("zzz = 1", "there are: max_gap_us"),
    ("min_busy = 1.5", "min_busy must be at most 1, but is 1.5"),
    ("min_busy = '1'", "min_busy must be a number, but is of type str"),
    ("max_gap_us = -1", "from 0 on, but is -1"),
    ("max_gap_us = nan", "from 0 on, but is nan"),
    ("max_gap_us = true", "must be a number"),
    ("max_wasted_share = 2", "at most 1"),
    ("min_quality = 'good'", "must be 'ok' or 'degraded' or 'unusable', but is 'good'"),
    ("min_quality = 1", "but is of type int"),
    ("unknown = 'ignore'", "must be 'fail' or 'pass'"),
    ("patterns = 1", "patterns must be a table"),
    ("[patterns]\nsync_stall = 1", "patterns.sync_stall must be a table"),
    ("[patterns.sync_stal]\nmax_count = 1", "did you mean 'sync_stall'?"),
    ("[patterns.profiler_artifact]\nmax_count = 1", "no finding has this pattern"),
    ("[patterns.sync_stall]\nmax_coun = 1", "did you mean 'max_count'?"),
    ("[patterns.sync_stall]\nmax_share = 1.1", "at most 1"),
    ("[patterns.sync_stall]\nallow = 'x'", "allow must be a list of names"),
    ("[patterns.sync_stall]\nallow = [1]", "allow must be a list of names"),
    ("[patterns.sync_stall]\nover_us = 5", "over_us alone limits nothing"),
    ("min_busy 1", "is no TOML"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_mistakes_are_told(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(torchtraceap.ConfigError) as caught:
        read_budget(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_what_is_no_budget(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a path or a dict, but is of type int"):
        read_budget(3)  # type: ignore[arg-type]
    with pytest.raises(torchtraceap.ConfigError, match="No such file"):
        read_budget(tmp_path / "missing.toml")
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.torchtraceap.patterns.sync_stall]\nmin_share = 0.5\n")
    with pytest.raises(torchtraceap.ConfigError, match=r"tool\.torchtraceap\.budget"):
        read_budget(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unknown = 'pass'",
        "[patterns]",
        "[patterns.sync_stall]",
        "[patterns.sync_stall]\nallow = ['item']",
        "[budget]",
        "[budget.patterns.'*']\nallow = ['item']",
        "[patterns.sync_stall]\nmin_share = 0.5\n[budget]\nunknown = 'fail'",
    ],
)
def test_a_budget_that_limits_nothing_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(torchtraceap.ConfigError, match="limits nothing, so that") as no:
        read_budget(path)
    assert str(no.value).startswith(str(path))
    assert not any(read_budget(path, needs_limit=False).lines())
    with pytest.raises(torchtraceap.ConfigError, match="budget limits nothing"):
        read_budget({})


def test_own_rules_can_be_limited(data: Path) -> None:
    limits = {"patterns": {"my_rule": {"max_count": 0}}}
    with pytest.raises(torchtraceap.ConfigError, match="my_rule"):
        read_budget(limits)

    @torchtraceap.rule(side="cpu", summary="idle", advice="none", min_share=0)
    def my_rule(view: torchtraceap.RuleView) -> list[torchtraceap.Claim]:
        rows = view.rows(category="kernel")
        row = int(rows[view.columns["dur"][rows].argmax()])
        return [torchtraceap.Claim(row, busy=True, device=view.devices[0])]

    path = data / "mi300-torch-compile-triton.json.gz"
    report = torchtraceap.analyze(path, rules=[my_rule])
    (violation,) = read_budget(limits, rules=["my_rule"]).check(report)
    assert violation.finding is not None
    assert violation.finding.pattern == "my_rule"


def test_the_page_tells_every_key(root: Path) -> None:
    page = (root / "docs" / "ci.md").read_text("utf-8")
    told = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    own = {f.name for f in fields(PatternLimits)}
    assert told == {*LIMITS, *RANK_LIMITS, "unknown", *own}
    assert set(PATTERN_LIMITS) < own


def test_a_written_budget_has_headroom(slow_loader: torchtraceap.Report) -> None:
    from torchtraceap.gate.ratchet import budget_toml

    busy = slow_loader.balance[0].busy_fraction
    written = re.search(r"^min_busy = (.*)$", budget_toml([slow_loader], 0.2), re.M)
    assert written is not None
    assert float(written[1]) == pytest.approx(0.8 * busy, abs=1e-4)
