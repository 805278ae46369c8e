# SPDX-License-Identifier: BSD-3-Clause
"""text_table.py: columns and paragraphs of plain text, whose parts may have a role.

A role says what a part of a line is, never how it looks: the program has a style for
each on a terminal (cli/output.py).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

WIDTH = 88


class Mark(NamedTuple):
    """A part of a line, and what it is: a "title", a "heading", or of a finding its
    severity, of a recording the verdict on it."""

    begin: int
    end: int
    role: str


class Line(str):
    """A line, a paragraph or a cell of which parts are marked."""

    marks: tuple[Mark, ...]

    def __new__(cls, text: str, *marks: Mark) -> Line:
        """Make it of its text."""
        line = super().__new__(cls, text)
        line.marks = marks
        return line


def marked(text: str, role: str) -> Line:
    """Return a text that is all of one role."""
    return Line(text, Mark(0, len(text), role))


def headed(head: str, text: str) -> Line:
    """Return ``head: text``, with the head marked as one."""
    return Line(f"{head}: {text}", Mark(0, len(head) + 1, "heading"))


def marks_of(text: str) -> tuple[Mark, ...]:
    """Return what is marked of a text."""
    return text.marks if isinstance(text, Line) else ()


def joined(blocks: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of those blocks that have some, an empty line between them."""
    lines: list[str] = []
    for block in map(list, blocks):
        lines += ["", *block] if lines and block else block
    return lines


def align(
    rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: str = ""
) -> list[str]:
    """Return a line for each row, its cells in columns two blanks apart.

    ``right`` names the columns that are set flush right. The last column is not
    padded, so that a long one costs the others nothing.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        text, marks = indent, []
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            begin = len(text) + (width - len(cell) if i in right else 0)
            marks += [Mark(begin + a, begin + b, role) for a, b, role in marks_of(cell)]
            text += (cell.rjust(width) if i in right else cell.ljust(width)) + "  "
        lines.append(Line(text.rstrip(), *marks))
    return lines


def wrapped(text: str, indent: str, first: str = "") -> list[str]:
    """Break a text into lines of the summary's width; numbers keep their units. Of what
    is marked, the part in the first line is."""
    lines = textwrap.wrap(
        re.sub(r"(\d) (s\b|ms\b|µs\b|%)", "\\1\xa0\\2", text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [line.replace("\xa0", " ") for line in lines]
    if lines and (marks := marks_of(text)):
        shift, end = len(first), len(lines[0])
        shown = (Mark(a + shift, min(b + shift, end), role) for a, b, role in marks)
        lines[0] = Line(lines[0], *shown)
    return lines


def parts_of(line: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line in their order, each with its role, "" of none."""
    at = 0
    for begin, end, role in marks_of(line):
        yield line[at:begin], ""
        yield line[begin:end], role
        at = end
    yield line[at:], ""
