#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pattern_index.py [--write]: the list of patterns, docs/patterns/README.md.

Generated from the core's table. tests/python/test_pages.py compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

from torchtraceap import _core

PAGE = Path(__file__).parents[1] / "docs" / "patterns" / "README.md"

HEAD = """\
# The patterns

In order of precedence: if two patterns could explain the same idle nanosecond, the one
further up claims it. The side names the code to change: the host's (cpu) or the
device's (gpu). `torchtraceap patterns` prints the same list, and `torchtraceap patterns
NAME` the thresholds of one. [A configuration](../reference/rules.md) can change them.

| pattern | side | problem |
|---|---|---|
"""

TAIL = """
\\* Accounted for in the balance, never reported as a finding.

A pattern of your own: [rules.md](../reference/rules.md).
"""


def index() -> str:
    """Return the text of the page."""
    rows = []
    for p in _core.patterns():
        star = "" if p.user_finding else " \\*"
        rows.append(f"| [{p.name}]({p.name}.md){star} | {p.side} | {p.summary} |\n")
    return HEAD + "".join(rows) + TAIL


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(index(), "utf-8")
    else:
        print(index(), end="")
