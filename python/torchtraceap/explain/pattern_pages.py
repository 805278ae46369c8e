# SPDX-License-Identifier: BSD-3-Clause
"""pattern_pages.py: what the pages of docs/patterns/ say, which no wheel has."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchtraceap.base.toml_text import read_toml
from torchtraceap.explain.explanation import CodeChange

_FILE = Path(__file__).with_name("pattern_pages.toml")


@dataclass(frozen=True)
class PatternPage:
    """Why a pattern costs time, and code before and after a fix."""

    why: str
    example: CodeChange | None  #: None: the fix is not code.


def pattern_page(
    pattern: str, subtype: str = "", advice: str = ""
) -> PatternPage | None:
    """Return the page of a pattern, of a sub-type and of certain advice where that
    differs; None of a pattern without a page, as are those of a user's own rules."""
    row = _rows().get(pattern)
    if row is None:
        return None
    for kind in row.get("kinds", ()):
        advised = any(text in advice for text in kind.get("advice", ()))
        if subtype in kind.get("of", ()) or advised:
            row = {**row, **kind}
            break
    before, after = row["before"], row["after"]
    why = " ".join(row["why"].split())
    return PatternPage(why, CodeChange(before, after) if after else None)


@functools.cache
def _rows() -> Mapping[str, Any]:
    return read_toml(_FILE.read_text("utf-8"))
