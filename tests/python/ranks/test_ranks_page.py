# SPDX-License-Identifier: BSD-3-Clause
"""test_ranks_page.py: docs/ranks.md shows what is printed, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchtraceap

PAGE = (Path(__file__).parents[3] / "docs" / "ranks.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def words(text: str) -> list[str]:
    """What is in each run, and what is in a place of its own only in this one."""
    text = re.sub(r"\d[\d.,]*( [µnm]?s\b| %)?|-(?= *$)", "N", text, flags=re.MULTILINE)
    return text.split()


def test_the_output_shown_is_the_programs(
    slow_job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(slow_job.parent)
    rest = words(torchtraceap.analyze("runs/").summary())
    (shown,) = blocks("text")
    head, *parts = shown.split("...\n")
    # What is noise on one machine is none on another: these rows differ.
    for part in (head.partition("  1. ")[0], parts[0], parts[-1]):
        expected = words(part.partition("What a step")[0])
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
