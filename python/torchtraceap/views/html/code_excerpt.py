# SPDX-License-Identifier: BSD-3-Clause
"""code_excerpt.py: the lines around a place, where the source file is at hand.

As they are shown, only files below the working folder or an entry of ``sys.path`` are
read. A folder that holds more than one project, such as the home folder or all above
it, counts for nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from torchtraceap.base.program_files import program_files, read_program

_AROUND = 2  # Lines before and after.
_WIDTH = 160


class SourceLine(NamedTuple):
    """A line of a file as it is now, which may be newer than the trace."""

    number: int
    text: str
    here: bool  # The line that the trace names.


def code_excerpt(file: str, line: int, around: int = _AROUND) -> list[SourceLine]:
    """Return the line with some around it; none if the file is not at hand."""
    for path in program_files(file, _projects()):
        source = read_program(path)
        if source is None:
            continue
        text = source.decode("utf-8", "replace")
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


def _projects() -> list[str]:
    """Return the folders that can be a project's: no root, nor what holds the home."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    folders = [os.path.realpath(folder) for folder in [os.getcwd(), *sys.path]]
    return [
        folder
        for folder in folders
        if os.path.dirname(folder) != folder and not home.is_relative_to(folder)
    ]
