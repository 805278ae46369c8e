# SPDX-License-Identifier: BSD-3-Clause
"""markdown_text.py: text from a trace in Markdown, where it can do nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from torchtraceap.safe_text import printable

_WIDTH = 120  # Of a name; together with the rows that are shown, far under 64 KiB.


def code(text: str, width: int = _WIDTH) -> str:
    """Return `text` as code on one line, also inside of a table; "" of nothing."""
    text = printable(text, width)
    if not text.strip():
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", r"\|")


def plain(text: str) -> str:
    """Return a sentence of ours with nothing in it special. What may quote names goes
    through `code`: GitHub makes links and mentions of what it finds elsewhere."""
    return re.sub(r"([\\`*_\[\]<>|#~$!&@])", r"\\\1", printable(text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 2) -> str:
    """Return a table; the first ``texts`` columns are text, the others figures."""
    rule = [":--" if column < texts else "--:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
