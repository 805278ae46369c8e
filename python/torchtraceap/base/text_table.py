# SPDX-License-Identifier: BSD-3-Clause
"""text_table.py: columns and paragraphs of plain text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 88


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return a line for each row, its cells in columns two blanks apart.

    ``right`` names the columns that are set flush right. The last column is not
    padded, so that a long one costs the others nothing.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def wrapped(text: str, indent: str, first: str = "") -> list[str]:
    """Break a text into lines of the summary's width; numbers keep their units."""
    lines = textwrap.wrap(
        re.sub(r"(\d) (s\b|ms\b|µs\b|%)", "\\1\xa0\\2", text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]
