# SPDX-License-Identifier: BSD-3-Clause
"""text_table.py: columns and paragraphs of plain text, whose parts may have a role.

A role says what a part of a line is, never how it looks: the program has a style for
each on a terminal (cli/output.py).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TypeAlias

WIDTH = 88

#: A text and its role: a "title", a "heading", the severity of a finding, the verdict
#: on a recording, or "".
Part: TypeAlias = tuple[str, str]


class Line(str):
    """A line, a paragraph or a cell, made of parts."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Line:
        """Join the parts."""
        line = super().__new__(cls, "".join(text for text, _ in parts))
        line.parts = parts
        return line


def marked(text: str, role: str) -> Line:
    """Return a text that has one role."""
    return Line((text, role))


def headed(head: str, text: str) -> Line:
    """Return ``head: text``, with the head as a heading."""
    return Line((f"{head}:", "heading"), (f" {text}", ""))


def parts_of(text: str) -> tuple[Part, ...]:
    """Return the parts of a line, or a plain text as its only part."""
    return text.parts if isinstance(text, Line) else ((text, ""),)


def joined(blocks: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of all blocks, an empty line between those that have any."""
    lines: list[str] = []
    for block in map(list, blocks):
        lines += ["", *block] if lines and block else block
    return lines


def align(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = ""
) -> list[str]:
    """Return a line for each row, its cells in columns two blanks apart.

    ``right`` names the columns that are set flush right. Nothing is padded at its end,
    so that a long last column costs the others nothing.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        parts, blank = [], indent
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            pad = " " * (width - len(cell))
            if cell:
                parts += [(blank + pad * (i in right), ""), *parts_of(cell)]
                blank = pad * (i not in right) + "  "
            else:
                blank += pad + "  "
        lines.append(Line(*parts))
    return lines


def wrapped(text: str, indent: str, first: str = "", width: int = WIDTH) -> list[str]:
    """Break a text into lines of a width; numbers keep their units. The first part
    keeps its role, as far as it is in the first line."""
    lines = textwrap.wrap(
        re.sub(r"(\d) (s\b|ms\b|µs\b|%)", "\\1\xa0\\2", text),
        width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [line.replace("\xa0", " ") for line in lines]
    if lines and isinstance(text, Line):
        head, role = text.parts[0]
        begin, end = len(first), len(first) + len(head)
        line = lines[0]
        lines[0] = Line((first, ""), (line[begin:end], role), (line[end:], ""))
    return lines
