# SPDX-License-Identifier: BSD-3-Clause
"""pairs/blame.py: finds the lines of the twins that a finding should name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from benchmarks import ROOT
from benchmarks.lab.corpus.workloads.pairs.pair import Pair

FOLDER = Path(__file__).resolve().parents[1]


def causes(pair: Pair) -> list[dict[str, str | int]]:
    """Find the lines marked ``# cause: NAME``, or ``# cause: NAME, NAME``.

    Each is ``{"file", "line", "code", "frame"}``; ``frame`` is the function around it
    as the profiler writes it, ``file(first line): name``. A pair whose cause is a
    global switch has none.
    """
    name = re.escape(pair.name)
    pattern = rf"^\s*(?P<code>.+?)\s+# cause: (?:\w+, )*{name}(?:, \w+)*$"
    mark = re.compile(pattern, re.MULTILINE)
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text("utf-8")
        for match in mark.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            function = function_at(text, line)
            named = path.relative_to(ROOT)
            frame = f"{named}({function.lineno}): {function.name}"
            found.append(
                {"file": path.name, "line": line, "code": match["code"], "frame": frame}
            )
    return found


def function_at(source: str, line: int) -> ast.FunctionDef:
    """Find the innermost function around ``line``."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno)
