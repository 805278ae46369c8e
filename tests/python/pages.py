# SPDX-License-Identifier: BSD-3-Clause
"""pages.py: reads the pages of docs/, for tests of the code and output they show."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    """Return the text of a page; its name has no suffix."""
    return (DOCS / f"{name}.md").read_text("utf-8")


def section(text: str, heading: str) -> str:
    """Return a section of a page, with its subsections."""
    begin = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert begin, heading
    rest = re.sub(r"^```.*?^```$", _blank, text[begin.end() :], flags=re.M | re.S)
    end = re.search(rf"^#{{1,{len(begin[1])}}} ", rest, re.MULTILINE)
    return text[begin.end() :][: end.start() if end else None]


def _blank(match: re.Match[str]) -> str:
    """A comment in code is not a heading."""
    return " " * len(match[0])


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a text in one language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for kind, block in found if kind == language]
