# SPDX-License-Identifier: BSD-3-Clause
"""code_excerpt.py: the lines around a place, where the source file is at hand.

The name of the file comes from the trace, which may have been made to draw out other
files. So only what can be the user's own program is ever opened: regular ``.py`` files
below the working folder or an entry of ``sys.path``, hidden folders and links out of
them excluded, and Python's own library and installed packages as well. A folder that
holds more than one project, such as the home folder or all above it, counts for
nothing.
"""

from __future__ import annotations

import os
import stat
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
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
    libraries = _libraries()
    for folder in _projects():
        try:
            path = os.path.realpath(os.path.join(folder, file))
            inside = os.path.relpath(path, folder).split(os.sep)
        except (OSError, ValueError):  # Such as a lone surrogate.
            continue
        # Also ".." begins with a dot. Links are resolved by now.
        hidden = any(part.startswith(".") for part in inside)
        if path.endswith(".py") and not hidden and not _is_installed(path, libraries):
            yield path


def _projects() -> list[str]:
    """Return the folders that can be a project's: no root, nor what holds the home."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    folders = dict.fromkeys(
        os.path.realpath(folder) for folder in [os.getcwd(), *sys.path]
    )
    return [
        folder
        for folder in folders
        if os.path.dirname(folder) != folder and not home.is_relative_to(folder)
    ]


def _libraries() -> set[str]:
    """Return the folders of the standard library and of installed packages."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return {os.path.realpath(sysconfig.get_path(name)) for name in names}


def _is_installed(path: str, libraries: set[str]) -> bool:
    """Tell whether a file is of a library; of other environments by their folders."""
    where = Path(path)
    return bool({"site-packages", "dist-packages"} & set(where.parts)) or any(
        where.is_relative_to(library) for library in libraries
    )


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
