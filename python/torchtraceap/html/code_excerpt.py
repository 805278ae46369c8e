# SPDX-License-Identifier: BSD-3-Clause
"""code_excerpt.py: the lines around a place, where the source file is at hand.

The name of the file comes from the trace, which may have been made to draw out other
files. So only what a Python program could itself have imported is ever opened: regular
``.py`` files below the working folder or an entry of ``sys.path``, hidden folders and
links out of them excluded.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

_MOST_BYTES = 1 << 20
_AROUND = 2  # Lines before and after.
_WIDTH = 160


class SourceLine(NamedTuple):
    """A line of a file as it is now, which may be newer than the trace."""

    number: int
    text: str
    here: bool  # The line that the trace names.


def code_excerpt(file: str, line: int, around: int = _AROUND) -> list[SourceLine]:
    """Return the line with some around it; none if the file is not at hand."""
    for path in _candidates(file):
        text = _read(path)
        if text is None:
            continue
        # As Python counts lines; str.splitlines() knows more kinds of line ends.
        lines = text.replace("\r\n", "\n").split("\n")
        if not 1 <= line <= len(lines):
            return []
        first = max(1, line - around)
        shown = lines[first - 1 : line + around]
        return [
            SourceLine(number, text[:_WIDTH].expandtabs(4).rstrip(), number == line)
            for number, text in enumerate(shown, first)
        ]
    return []


def _candidates(file: str) -> Iterator[str]:
    """Yield the files that a name could mean, all of them below a known folder."""
    if not file.endswith(".py") or "\0" in file:
        return
    folders = dict.fromkeys(
        os.path.realpath(folder) for folder in [os.getcwd(), *sys.path]
    )
    for folder in folders:
        try:
            path = os.path.realpath(os.path.join(folder, file))
            inside = os.path.relpath(path, folder).split(os.sep)
        except (OSError, ValueError):  # Such as a lone surrogate.
            continue
        # Also ".." begins with a dot. Links are resolved by now.
        if path.endswith(".py") and not any(part.startswith(".") for part in inside):
            yield path


def _read(path: str) -> str | None:
    """Return the text of a regular file of a sensible size."""
    try:
        # A pipe must not block: it is opened, found to be none, and closed.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                return None
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
