# SPDX-License-Identifier: BSD-3-Clause
"""test_ranks_page.py: docs/ranks.md, and docs/ci.md on limits of ranks, show what is
printed, and their code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchtraceap

from ..conftest import Cli
from ..pages import blocks, page


@pytest.fixture(autouse=True)
def runs(slow_job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job lies in the folder that the pages name."""
    monkeypatch.chdir(slow_job.parent)


def words(text: str) -> list[str]:
    """What is in each run, and what is in a place of its own only in this one."""
    text = re.sub(r"\d[\d.,]*( [µnm]?s\b| %)?|-(?= *$)", "N", text, flags=re.MULTILINE)
    return text.split()


def test_the_output_shown_is_the_programs() -> None:
    rest = words(torchtraceap.analyze("runs/").summary())
    screen, shown = blocks(page("ranks"), "text")
    first = words(screen.partition("\n\n")[0])  # Which rows follow differs by noise.
    assert words(str(torchtraceap.analyze("runs/")))[: len(first)] == first
    head, *parts = shown.split("...\n")
    # What is noise on one machine is none on another: these rows differ.
    for part in (head, parts[1], parts[-1]):
        expected = words(part.partition("Gain if")[0])
        places = range(len(rest) - len(expected) + 1)
        assert any(rest[at : at + len(expected)] == expected for at in places), part


def test_the_code_runs() -> None:
    record, *used = blocks(page("ranks"), "python")
    assert len(used) == 2
    namespace: dict[str, object] = {}
    for code in (record, *used):
        exec(compile(code, "ranks.md", "exec"), namespace)
    assert Path("job.json").exists()


def test_the_check_shown_is_the_programs(tmp_path: Path, cli: Cli) -> None:
    (limits,) = (b for b in blocks(page("ci"), "toml") if "[ranks]" in b)
    (tmp_path / "budget.toml").write_text(limits)
    (shown,) = (b for b in blocks(page("ci"), "text") if "runs/" in b)
    command, _, said = shown.partition("\n")
    assert command == "$ torchtraceap check runs/ --budget budget.toml"
    code, out, _ = cli("check", "runs/", "--budget", tmp_path / "budget.toml")
    assert code == 1 and words(out) == words(said)
