# SPDX-License-Identifier: BSD-3-Clause
"""test_pattern_pages.py: each pattern has its page, with the thresholds of the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchtraceap import _core

NAMES = [pattern.name for pattern in _core.patterns()]
HEADINGS = [
    *("## In a trace", "## Why it costs", "## Rule"),
    *("## Fix", "## What it is not"),
]
MOST_LINES = 100  # Without code.


def without_code(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_a_page(name: str, root: Path) -> None:
    """It has the usual form, the thresholds of the code, the sub-types, code to fix."""
    page = (root / "docs" / "patterns" / f"{name}.md").read_text("utf-8")
    lines = page.splitlines()
    code = page.count("\n") - without_code(page).count("\n")
    assert len(lines) - code < MOST_LINES
    headings = re.findall(r"^##? .*$", without_code(page), re.MULTILINE)
    assert headings == [f"# {name}", *HEADINGS]
    assert len(lines[2]) > 20, "a sentence under the title"
    expected = [t for t in _core.thresholds() if t.pattern == name]
    rule = page.partition("\n## Rule\n")[2].partition("\n## ")[0]
    listed = list(thresholds(rule))
    assert listed == [(t.name, t.default, t.unit) for t in expected]
    (pattern,) = [p for p in _core.patterns() if p.name == name]
    for subtype in pattern.subtypes:
        assert f"`{subtype}`" in page, subtype
    fix = page.partition("\n## Fix\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", fix, re.MULTILINE | re.DOTALL)
    assert blocks or not pattern.user_finding
    for code in blocks:
        ast.parse(code)


def thresholds(rule: str) -> Iterator[tuple[str, float, str]]:
    """Read the table of name, default, unit and why."""
    rows = [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for line in rule.splitlines()
        if line.startswith("|")
    ]
    start = rows.index(["threshold", "default", "unit", "why"])
    for name, default, unit, why in rows[start + 2 :]:
        assert why, name
        yield name, float(default.replace(",", "")), unit


def test_there_are_no_other_pages(root: Path) -> None:
    pages = {path.stem for path in (root / "docs" / "patterns").glob("*.md")}
    assert pages - {"README"} <= set(NAMES)


def test_the_list_is_that_of_the_code(root: Path) -> None:
    command = [sys.executable, root / ".ci" / "pattern_index.py"]
    out = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    page = (root / "docs" / "patterns" / "README.md").read_text("utf-8")
    assert page == out, "run: python .ci/pattern_index.py --write"


def test_every_threshold_says_why() -> None:
    first: dict[str, str] = {}
    for row in _core.thresholds():
        assert row.why and row.unit, (row.pattern, row.name)
        first.setdefault(row.pattern, row.name)
    assert first == dict.fromkeys(NAMES, "min_share")
