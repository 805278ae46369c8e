# SPDX-License-Identifier: BSD-3-Clause
"""test_readme.py: the README's code runs, its output is real, its links lead on."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from torchtraceap.cli import main


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text("utf-8")


def blocks(readme: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    return [text for kind, text in found if kind == language]


def test_the_output_shown_is_the_programs(
    readme: str,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(root)
    (block,) = blocks(readme, "console")
    command, _, output = block.partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "torchtraceap"
    assert main(arguments) == 0
    assert output == capsys.readouterr().out


def test_the_first_minute_shows_the_same(readme: str, root: Path) -> None:
    """Its excerpt goes from the second line to the third finding, nothing left out."""
    (block,) = blocks(readme, "console")
    page = (root / "docs" / "first_minute.md").read_text("utf-8")
    (excerpt,) = blocks(page, "text")
    assert excerpt in block
    assert excerpt.count(" recoverable\n") == 3


def test_the_demo_is_the_one_shown(readme: str, root: Path) -> None:
    (block,) = blocks(readme, "console")
    trace = shlex.split(block.splitlines()[0])[-1]
    assert f"DEMO_TRACE ?= {trace}\n" in (root / "Makefile").read_text("utf-8")


def test_the_python_code_runs(
    readme: str,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """One block after the other, in one namespace, as a reader would."""
    pytest.importorskip("torch")
    monkeypatch.chdir(root)
    namespace: dict[str, Any] = {}
    found = blocks(readme, "python")
    assert len(found) >= 3
    for code in found:
        before = set(namespace)
        exec(compile(code, "README.md", "exec"), namespace)
        for name in sorted(set(namespace) - before):
            if name.startswith("test_"):
                namespace[name](request.getfixturevalue("no_sync_stalls"))


def test_commands_are_those_of_the_program(readme: str) -> None:
    (block,) = blocks(readme, "")
    commands = re.findall(r"^torchtraceap (\w+)", block, re.MULTILINE)
    assert commands == [
        "analyze",
        "check",
        "compare",
        "whatif",
        "dryrun",
        "inspect",
        "patterns",
        "completion",
    ]
    for command in commands:
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])


@pytest.mark.parametrize(
    "page",
    ["README.md", "docs/architecture.md", "docs/formats.md"],
)
def test_links_lead_somewhere(root: Path, page: str) -> None:
    text = (root / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert ((root / page).parent / target).exists(), target
