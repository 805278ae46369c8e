# SPDX-License-Identifier: BSD-3-Clause
"""test_skill.py: every line that the skill page tells an agent to run does run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.cli import main
from torchtraceap.cli.mcp import skill

from .cli_commands import the_commands

PAGE = skill()
TRACES = {
    "trace.json.gz": "kineto2021-v100-resnet50-workers0-memory.json.gz",
    "before.json.gz": "kineto2021-v100-resnet50-workers0-memory.json.gz",
    "after.json.gz": "kineto2021-v100-resnet50-workers4.json.gz",
}
#: The program after the change still has findings that were hidden before.
BROKEN = "torchtraceap check after.json.gz --baseline before.json.gz"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_front_matter_is_a_skills() -> None:
    head, _, _ = PAGE.removeprefix("---\n").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "torchtraceap"
    assert 100 < len(fields["description"]) <= 1024


def test_its_lines_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, source in TRACES.items():
        shutil.copy(data / source, name)
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(lines) > 10
    named = set()
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "torchtraceap"
        named.add(words[0])
        assert main(words) == (1 if line == BROKEN else 0), line
    assert named >= {"analyze", "inspect", "explain", "whatif", "compare", "check"}
    for name in ("report.json", "gain.json", "comparison.json", "budget.toml"):
        assert Path(name).stat().st_size > 100


def test_its_options_and_members_are_there(slow_loader: torchtraceap.Report) -> None:
    known = {
        option
        for parser in the_commands().values()
        for action in parser._actions
        for option in action.option_strings
    }
    named = {*re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)}
    assert named <= known
    form: Any = slow_loader.to_dict()
    for member in re.findall(r"`([a-z_]+)(?:\[\]|\.)", PAGE):
        assert member in {*form, "gain", "location", "train", "torch"}, member
    finding = form["findings"][0]
    for name in ("id", "wasted_us", "recoverable_us", "basis", "origin", "message"):
        assert name in finding and name in PAGE


def test_its_loop_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names = {
        "loader": [torch.ones(8, 8)] * 8,
        "train_step": lambda batch: batch @ batch,
    }
    exec(compile(blocks("python")[0], "SKILL.md", "exec"), names)
    assert [*Path("profile").glob("*.pt.trace.json.gz")]


def test_its_test_runs(no_sync_stalls: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {"train_step": lambda: torch.ones(8, device="cuda") * 2}
    exec(compile(blocks("python")[1], "SKILL.md", "exec"), names)
    names["test_training_step"](no_sync_stalls)


def test_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--skill"]) == 0
    assert capsys.readouterr().out == PAGE
