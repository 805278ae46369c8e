# SPDX-License-Identifier: BSD-3-Clause
"""test_config.py: settings change what they name, and mistakes in them are told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.data.config import project_file, read_changes

LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = "mi250-rocm62-tiny.json.gz"

Run = Callable[..., Any]


def patterns_of(report: torchtraceap.Report) -> set[str]:
    return {finding.pattern for finding in report.findings}


def test_a_threshold_decides(data: Path, slow_loader: torchtraceap.Report) -> None:
    (found,) = [f for f in slow_loader.findings if f.pattern == "dataloader_bound"]
    # What its fix gains, which is more than the part of the idle time that is its own.
    share = (found.recoverable_us or 0) / slow_loader.trace.device_time_us
    for factor, is_found in ((0.99, True), (1.01, False)):
        config = {"patterns": {"dataloader_bound": {"min_share": share * factor}}}
        report = torchtraceap.analyze(data / LOADER, config=config)
        assert ("dataloader_bound" in patterns_of(report)) == is_found
        assert report.settings == config["patterns"]


def test_a_rule_can_be_off(data: Path, slow_loader: torchtraceap.Report) -> None:
    assert "dataloader_bound" in patterns_of(slow_loader)
    config = {"patterns": {"dataloader_bound": {"enabled": False}}}
    report = torchtraceap.analyze(data / LOADER, config=config)
    assert "dataloader_bound" not in patterns_of(report)
    assert report.balance[0].idle_us["dataloader_bound"] == 0
    assert "dataloader_bound off" in report.summary()
    assert report.to_dict()["settings"] == config["patterns"]


def test_only_changes_are_told(slow_loader: torchtraceap.Report) -> None:
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


@pytest.mark.parametrize(("text", "message"), BAD)
def test_mistakes_are_told(
    text: str | bytes, message: str, tmp_path: Path, data: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(torchtraceap.ConfigError) as caught:
        torchtraceap.analyze(data / TINY, config=path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert isinstance(caught.value, ValueError)


def test_files_that_are_none(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(torchtraceap.ConfigError, match=r"missing\.toml: No such file"):
        read_changes(missing, {})
    with pytest.raises(torchtraceap.ConfigError, match="Is a directory"):
        read_changes(tmp_path, {})
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


def settings_in(result: Any) -> Any:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["settings"]


def test_the_program_takes_a_file(program: Run, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("[patterns.gc_pause]\nenabled = false\n")
    result = program("analyze", data / TINY, "--config", path, "--json", "-")
    assert settings_in(result) == {"gc_pause": {"enabled": False}}


def test_the_program_finds_pyproject(program: Run, data: Path, tmp_path: Path) -> None:
    command = ("analyze", data.resolve() / TINY, "--json", "-")
    project = tmp_path / "pyproject.toml"
    assert settings_in(program(*command, cwd=tmp_path)) == {}
    project.write_text("[project]\nname = 'torchtraceap-user'\n")
    assert settings_in(program(*command, cwd=tmp_path)) == {}
    project.write_text("[tool.torchtraceap.patterns.gc_pause]\nenabled = false\n")
    off = {"gc_pause": {"enabled": False}}
    assert settings_in(program(*command, cwd=tmp_path)) == off
    assert settings_in(program(*command, "--no-config", cwd=tmp_path)) == {}
    other = tmp_path / "other.toml"
    other.write_text("")
    assert settings_in(program(*command, "--config", other, cwd=tmp_path)) == {}


def test_a_call_finds_no_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "[tool.torchtraceap.patterns.gc_pause]\nenabled = false\n"
    (tmp_path / "pyproject.toml").write_text(text)
    source = data.resolve() / TINY
    monkeypatch.chdir(tmp_path)
    assert project_file() is not None
    assert torchtraceap.analyze(source).settings == {}


@pytest.mark.parametrize("number", [0, 6, 13])
def test_the_program_refuses_in_a_line(
    number: int, program: Run, data: Path, tmp_path: Path
) -> None:
    text, message = BAD[number]
    assert isinstance(text, str)
    path = tmp_path / "s.toml"
    path.write_text(text)
    result = program("analyze", data / TINY, "--config", path)
    error = result.stderr.decode()
    assert result.returncode == 2 and result.stdout == b""
    assert message in error and error.count(os.linesep) == 1
    assert "Traceback" not in error
    both = program("analyze", data / TINY, "--config", path, "--no-config")
    assert both.returncode == 2 and b"exclude each other" in both.stderr


def test_patterns_are_listed(program: Run) -> None:
    out = program("patterns").stdout.decode()
    names = [p.name for p in _core.patterns()]
    assert [line.split()[0] for line in out.splitlines()[3:]] == names
    one = program("patterns", "sync_stall").stdout.decode()
    assert "min_share = 0.01 share" in one and "docs/patterns/sync_stall.md" in one
    forms = json.loads(program("patterns", "--json").stdout)
    assert [form["name"] for form in forms] == names
    thresholds = [(f["name"], t["name"]) for f in forms for t in f["thresholds"]]
    assert thresholds == [(row.pattern, row.name) for row in _core.thresholds()]
    wrong = program("patterns", "sync_stal")
    assert wrong.returncode == 2 and b"did you mean 'sync_stall'?" in wrong.stderr
