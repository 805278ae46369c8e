# SPDX-License-Identifier: BSD-3-Clause
"""test_pattern_pages.py: each pattern has its page, with the thresholds of the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchtraceap import _core

NAMES = [pattern.name for pattern in _core.patterns()]
HEADINGS = ["## In a trace", "## Rule", "## Fix", "## What it is not"]
MOST_LINES = 90


@pytest.fixture
def page(request: pytest.FixtureRequest, root: Path) -> str:
    path = root / "docs" / "patterns" / f"{request.param}.md"
    assert path.exists(), f"the pattern {request.param} has no page"
    return path.read_text("utf-8")


each = pytest.mark.parametrize(
    ("page", "name"), [(name, name) for name in NAMES], indirect=["page"]
)


def without_code(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


@each
def test_it_has_the_usual_form(page: str, name: str) -> None:
    lines = page.splitlines()
    assert len(lines) < MOST_LINES
    headings = re.findall(r"^##? .*$", without_code(page), re.MULTILINE)
    assert headings == [f"# {name}", *HEADINGS]
    assert len(lines[2]) > 20, "a sentence under the title"


@each
def test_it_lists_the_thresholds_of_the_code(page: str, name: str) -> None:
    rule = page.partition("\n## Rule\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for line in rule.splitlines()
        if line.startswith("|")
    ]
    header = ["threshold", "default", "unit", "why"]
    start = next((i for i, row in enumerate(rows) if row == header), None)
    assert start is not None, f"no table of {' | '.join(header)}"
    listed = []
    for row in rows[start + 2 :]:
        assert len(row) == 4 and row[3], row
        listed.append((row[0], float(row[1].replace(",", "")), row[2]))
    expected = [
        (t.name, t.default, t.unit) for t in _core.thresholds() if t.pattern == name
    ]
    assert listed == expected


@each
def test_it_names_the_sub_types(page: str, name: str) -> None:
    (pattern,) = [p for p in _core.patterns() if p.name == name]
    for subtype in pattern.subtypes:
        assert f"`{subtype}`" in page, subtype


@each
def test_the_fix_is_code(page: str, name: str) -> None:
    fix = page.partition("\n## Fix\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", fix, re.MULTILINE | re.DOTALL)
    assert (
        blocks or not next(p for p in _core.patterns() if p.name == name).user_finding
    )
    for code in blocks:
        ast.parse(code)


@each
def test_links_lead_somewhere(page: str, name: str, root: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", without_code(page)):
        if "://" not in target:
            assert (root / "docs" / "patterns" / target).exists(), target


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
