# SPDX-License-Identifier: BSD-3-Clause
"""text_table.py: columns and paragraphs of plain text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

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


def table_lines(
    title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> Iterator[str]:
    """Yield a title and the rows under their headings; nothing without rows.

    Columns are set flush right, but for a last one named "name" or "kind".
    """
    if not rows:
        return
    yield title
    # A last column of text stays on the left.
    right = range(len(head) - (head[-1] in ("name", "kind")))
    for line in align([head, *rows], right=tuple(right)):
        yield f"  {line}"


def first_of(shown: int, there: int) -> str:
    """Say how many of a table's rows are shown, if not all: " (10 of 38)"."""
    return f" ({shown} of {there:,})" if there > shown else ""
