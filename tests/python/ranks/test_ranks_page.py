# SPDX-License-Identifier: BSD-3-Clause
"""test_ranks_page.py: docs/ranks.md, and docs/ci.md on limits of ranks, show what is
printed, and their code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.cli import main

DOCS = Path(__file__).parents[3] / "docs"


def blocks(language: str, page: str = "ranks") -> list[str]:
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def words(text: str) -> list[str]:
    """What is in each run, and what is in a place of its own only in this one."""
    text = re.sub(r"\d[\d.,]*( [µnm]?s\b| %)?|-(?= *$)", "N", text, flags=re.MULTILINE)
    return text.split()


def test_the_output_shown_is_the_programs(
    slow_job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(slow_job.parent)
    rest = words(torchtraceap.analyze("runs/").summary())
    screen, shown = blocks("text")
    first = words(screen.partition("\n\n")[0])  # Which rows follow differs by noise.
    assert words(str(torchtraceap.analyze("runs/")))[: len(first)] == first
    head, *parts = shown.split("...\n")
    # What is noise on one machine is none on another: these rows differ.
    for part in (head.partition("  1. ")[0], parts[0], parts[-1]):
        expected = words(part.partition("Gain if")[0])
        places = range(len(rest) - len(expected) + 1)
        assert any(rest[at : at + len(expected)] == expected for at in places), part


def test_the_code_runs(slow_job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(slow_job.parent)
    record, *used = blocks("python")
    assert len(used) == 2
    namespace: dict[str, object] = {}
    for code in (record, *used):
        exec(compile(code, "ranks.md", "exec"), namespace)
    assert (slow_job.parent / "job.json").exists()


def test_the_check_shown_is_the_programs(
    slow_job: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(slow_job.parent)
    (limits,) = (block for block in blocks("toml", "ci") if "[ranks]" in block)
    (tmp_path / "budget.toml").write_text(limits)
    (shown,) = (block for block in blocks("text", "ci") if "runs/" in block)
    command, _, said = shown.partition("\n")
    assert command == "$ torchtraceap check runs/ --budget budget.toml"
    assert main(["check", "runs/", "--budget", str(tmp_path / "budget.toml")]) == 1
    assert words(capsys.readouterr().out) == words(said)
