# SPDX-License-Identifier: BSD-3-Clause
"""test_config.py: settings change what they name, budgets are read as written, and
mistakes in both are named."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Report, _core
from torchtraceap.data.config import project_file, read_changes
from torchtraceap.gate.budget import Budget, read_budget
from torchtraceap.gate.budget_data import (
    LIMITS,
    PATTERN_LIMITS,
    RANK_LIMITS,
    PatternLimits,
)

from .conftest import Cli

LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = "mi250-rocm62-tiny.json.gz"


def patterns_of(report: Report) -> set[str]:
    return {finding.pattern for finding in report.findings}


def test_a_threshold_decides(data: Path, slow_loader: Report) -> None:
    (found,) = [f for f in slow_loader.findings if f.pattern == "dataloader_bound"]
    # What its fix gains, which is more than the part of the idle time that is its own.
    gain = slow_loader.recovery.gains[slow_loader.rule_findings.index(found)]
    assert gain is not None
    share = gain.replayed_us / slow_loader.trace.device_time_us
    for factor, is_found in ((0.99, True), (1.01, False)):
        config = {"patterns": {"dataloader_bound": {"min_share": share * factor}}}
        report = torchtraceap.analyze(data / LOADER, config=config)
        assert ("dataloader_bound" in patterns_of(report)) == is_found
        assert report.settings == config["patterns"]


def test_a_rule_can_be_off(data: Path, slow_loader: Report) -> None:
    assert "dataloader_bound" in patterns_of(slow_loader)
    config = {"patterns": {"dataloader_bound": {"enabled": False}}}
    report = torchtraceap.analyze(data / LOADER, config=config)
    assert "dataloader_bound" not in patterns_of(report)
    assert report.balance[0].idle_us["dataloader_bound"] == 0
    assert "dataloader_bound off" in report.summary()
    assert report.to_dict()["settings"] == config["patterns"]


def test_only_changes_are_reported(slow_loader: Report) -> None:
    assert slow_loader.settings == {}
    row = next(r for r in _core.thresholds() if r.pattern == "sync_stall")
    config = {"patterns": {"sync_stall": {row.name: row.default, "enabled": True}}}
    assert read_changes(config, {}) == {}


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[patterns.sync_stall]\nmin_share = 0.5\nenabled = false\n")
    expected = {"sync_stall": {"min_share": 0.5, "enabled": False}}
    assert read_changes(path, {}) == read_changes(str(path), {}) == expected
    project = tmp_path / "pyproject.toml"
    project.write_text(
        "[project]\nname = 'x'\n[tool.torchtraceap.patterns.sync_stall]\n"
        "min_share = 0.5\nenabled = false\n"
    )
    assert read_changes(project, {}) == expected


BAD = [
    ("[patterns.sync_stal]\nmin_share = 1", "did you mean 'sync_stall'?"),
    ("[patterns.sync_stall]\nmin_shar = 1", "did you mean 'min_share'?"),
    ("[patterns.sync_stall]\nzzz = 1", "there are: min_share"),
    ("[pattern.sync_stall]\nmin_share = 1", "did you mean 'patterns'?"),
    ("[patterns.sync_stall]\nmin_share = '1'", "must be a number, but is of type str"),
    ("[patterns.sync_stall]\nmin_share = true", "must be a number"),
    ("[patterns.sync_stall]\nmin_share = -0.1", "from 0 on, but is -0.1"),
    ("[patterns.sync_stall]\nmin_share = nan", "from 0 on, but is nan"),
    ("[patterns.sync_stall]\nmin_share = inf", "from 0 on, but is inf"),
    ("[patterns.sync_stall]\nmin_share = 1.1", "at most 1, but is 1.1 (unit: share)"),
    ("[patterns.sync_stall]\nenabled = 0", "must be true or false"),
    ("[patterns]\nsync_stall = 1", "patterns.sync_stall must be a table"),
    ("patterns = 1", "patterns must be a table"),
    ("[patterns.sync_stall]\n\nmin_share 1", "line 3"),
    ("a = '\xff'".encode("latin-1"), "not UTF-8"),
]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(torchtraceap.ConfigError, match="cannot read"):
        read_changes("a\0b", {})
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.other]\n")
    with pytest.raises(torchtraceap.ConfigError, match=r"no section \[tool.torchtrace"):
        read_changes(project, {})
    with pytest.raises(TypeError, match="a path or a dict, but is of type int"):
        read_changes(3, {})  # type: ignore[arg-type]
    with pytest.raises(torchtraceap.ConfigError, match="must have names, but has 1"):
        read_changes({"patterns": {1: {}}}, {})


def test_every_threshold_can_be_set(data: Path) -> None:
    """Also to 0, which no rule may stumble over."""
    config: dict[str, Any] = {"patterns": {}}
    for row in _core.thresholds():
        config["patterns"].setdefault(row.pattern, {})[row.name] = 0
    changes = read_changes(config, {})
    for row in _core.thresholds():
        assert changes.get(row.pattern, {}).get(row.name, row.default) == 0
    for name in (LOADER, TINY, "cpu-macos-resnet18.json.gz"):
        assert torchtraceap.analyze(data / name, config=config).balance


def test_the_core_agrees_on_ranges() -> None:
    settings = _core.Settings()
    with pytest.raises(ValueError, match="at most 1"):
        settings.set("sync_stall", "min_share", 1.5)
    with pytest.raises(ValueError, match="no pattern 'sync'"):
        settings.enable("sync", False)


# --- The program ------------------------------------------------------------------


def test_the_program_takes_a_file_or_finds_pyproject(
    cli: Cli, data: Path, here: Path
) -> None:
    def settings(*options: object) -> Any:
        trace = data.resolve() / TINY
        text = cli("analyze", trace, "--json", "-", *options).fine()
        return json.loads(text)["settings"]

    project, other = here / "pyproject.toml", here / "other.toml"
    off = {"gc_pause": {"enabled": False}}
    assert settings() == {}
    other.write_text("[patterns.gc_pause]\nenabled = false\n")
    assert settings("--config", other) == off
    project.write_text("[project]\nname = 'torchtraceap-user'\n")
    assert settings() == {}
    project.write_text("[tool.torchtraceap.patterns.gc_pause]\nenabled = false\n")
    assert settings() == off
    assert settings("--no-config") == {}
    other.write_text("")
    assert settings("--config", other) == {}


def test_a_call_finds_no_file(data: Path, here: Path) -> None:
    text = "[tool.torchtraceap.patterns.gc_pause]\nenabled = false\n"
    (here / "pyproject.toml").write_text(text)
    source = data.resolve() / TINY
    assert project_file() is not None
    assert torchtraceap.analyze(source).settings == {}


@pytest.mark.parametrize("number", [0, 6, 13])
def test_the_program_refuses_in_a_line(
    number: int, cli: Cli, data: Path, tmp_path: Path
) -> None:
    text, message = BAD[number]
    assert isinstance(text, str)
    path = tmp_path / "s.toml"
    path.write_text(text)
    code, out, error = cli("analyze", data / TINY, "--config", path)
    assert code == 2 and out == ""
    assert message in error and error.count(os.linesep) == 1
    assert "Traceback" not in error
    both = cli("analyze", data / TINY, "--config", path, "--no-config")
    assert both.code == 2 and "exclude each other" in both.err


def test_patterns_are_listed(cli: Cli) -> None:
    out = cli("patterns").fine()
    names = [p.name for p in _core.patterns()]
    assert [line.split()[0] for line in out.splitlines()[3:]] == names
    one = cli("patterns", "sync_stall").fine()
    assert "min_share = 0.01 share" in one and "docs/patterns/sync_stall.md" in one
    forms = json.loads(cli("patterns", "--json").fine())
    assert [form["name"] for form in forms] == names
    thresholds = [(f["name"], t["name"]) for f in forms for t in f["thresholds"]]
    assert thresholds == [(row.pattern, row.name) for row in _core.thresholds()]
    wrong = cli("patterns", "sync_stal")
    assert wrong.code == 2 and "did you mean 'sync_stall'?" in wrong.err


# --- Budgets --------------------------------------------------------------------------


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


BAD_BUDGETS = [
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
    ("min_busy 1", "is not TOML"),
]


def read_settings(path: Path) -> object:
    return torchtraceap.analyze(b'{"traceEvents": []}', config=path)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read, *row)
        for read, rows in ((read_settings, BAD), (read_budget, BAD_BUDGETS))
        for row in rows
    ],
)
def test_mistakes_are_named(
    read: Callable[[Path], object], text: str | bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(torchtraceap.ConfigError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("read", [read_settings, read_budget])
def test_what_is_not_a_file_is_refused_at_once(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, what in (("none", "No such file"), ("", "directory"), ("pipe", "a pipe")):
        path = tmp_path / name
        with pytest.raises(torchtraceap.ConfigError) as caught:
            read(path)
        assert str(caught.value).startswith(f"cannot read {path}: ")
        assert what in str(caught.value)


def test_what_is_no_budget(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a path or a dict, but is of type int"):
        read_budget(3)  # type: ignore[arg-type]
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
    assert violation.finding.pattern == "my_rule"


def test_the_page_tells_every_key(root: Path) -> None:
    page = (root / "docs" / "ci.md").read_text("utf-8")
    told = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    own = {f.name for f in fields(PatternLimits)}
    assert told == {*LIMITS, *RANK_LIMITS, "unknown", *own}
    assert set(PATTERN_LIMITS) < own


def test_a_written_budget_has_headroom(slow_loader: Report) -> None:
    from torchtraceap.gate.ratchet import budget_toml

    busy = slow_loader.balance[0].busy_fraction
    written = re.search(r"^min_busy = (.*)$", budget_toml([slow_loader], 0.2), re.M)
    assert float(written[1]) == pytest.approx(0.8 * busy, abs=1e-4)
