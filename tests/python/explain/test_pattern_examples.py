# SPDX-License-Identifier: BSD-3-Clause
"""test_pattern_examples.py: the package and a pattern's page agree on it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from torchtraceap import _core
from torchtraceap.base.toml_text import read_toml
from torchtraceap.explain import pattern_pages
from torchtraceap.explain.pattern_pages import pattern_page

PATTERNS = _core.patterns()
NAMES = [pattern.name for pattern in PATTERNS]
ROWS = read_toml(pattern_pages._FILE.read_text("utf-8"))
_HEAD = re.compile(r"^# (before|after)\b(?:[:,;] *)?", re.IGNORECASE)


def section(root: Path, pattern: str, title: str) -> str:
    page = (root / "docs" / "patterns" / f"{pattern}.md").read_text("utf-8")
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0].strip()


def one_line(text: str) -> str:
    return " ".join(text.split())


def code_pairs(fix: str) -> list[tuple[str, str]]:
    """Return code before and after, of one block or of two that follow each other, in
    the order of the page."""
    blocks = re.findall(r"^```python\n(.*?)^```$", fix, re.MULTILINE | re.DOTALL)
    pairs, last = [], ""
    for block in blocks:
        parts = re.split(r"\n(?=# after\b)", block, flags=re.IGNORECASE)
        if len(parts) == 1 and not last:
            last = block
        else:
            before, after = parts if len(parts) == 2 else (last, block)
            pairs.append((bare(before), bare(after)))
            last = ""
    return pairs


def bare(code: str) -> str:
    """Return code without a comment that only says which of the two it is."""
    first, _, rest = code.strip().partition("\n")
    if head := _HEAD.match(first):
        said = first[head.end() :]
        first = f"# {said[:1].upper()}{said[1:]}" if said else ""
    return f"{first}\n{rest}".strip() + "\n"


def test_there_is_a_row_for_each_pattern() -> None:
    assert list(ROWS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_row_says_what_the_page_says(name: str, root: Path) -> None:
    row, fix = ROWS[name], section(root, name, "Fix")
    assert one_line(row["why"]) == one_line(section(root, name, "Why it costs"))
    pairs = code_pairs(fix)
    if row["after"]:
        assert (row["before"], row["after"]) == pairs[0]
    for kind in row.get("kinds", ()):
        assert one_line(kind.get("why", "")) in one_line(fix)
        if kind["after"]:
            assert (kind["before"], kind["after"]) in pairs[1:]


@pytest.mark.parametrize("pattern", PATTERNS, ids=NAMES)
def test_a_row_is_right(pattern: _core.PatternInfo) -> None:
    row = ROWS[pattern.name]
    assert bool(row["after"]) == pattern.user_finding
    for part in (row, *row.get("kinds", ())):
        assert set(part.get("of", ())) <= set(pattern.subtypes)
        assert bool(part["before"]) == bool(part["after"])
        for code in (part["before"], part["after"]):
            ast.parse(code)


def test_a_kind_is_found_by_sub_type_and_by_advice() -> None:
    usual = pattern_page("sync_stall", "scalar_read")
    explicit = pattern_page("sync_stall", "explicit")
    assert usual and explicit and usual.why != explicit.why
    assert usual.example and "loss.item()" in usual.example.before
    assert explicit.example and "torch.cuda.synchronize()" in explicit.example.before
    volta = pattern_page("tensor_core_unused", "", "Use torch.amp.GradScaler.")
    assert volta and volta.example and "GradScaler" in volta.example.after


def test_some_fixes_are_no_code() -> None:
    page = pattern_page("allocator_churn", "uncached")
    assert page and page.example is None


def test_a_rule_of_a_users_own_has_no_page() -> None:
    assert pattern_page("slow_checkpoint") is None
