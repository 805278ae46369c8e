# SPDX-License-Identifier: BSD-3-Clause
"""program_files.py: the source files of a traced program, if they exist.

The name of a file comes from the trace, which may have been made to draw out other
files. So only what can be the user's own program is ever opened: regular ``.py`` files
below folders that are given, hidden folders and links out of them excluded, and
Python's own library and installed packages as well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchtraceap.base.files import open_file
from torchtraceap.base.roots import Roots
from torchtraceap.base.source_lines import is_user_file

if TYPE_CHECKING:
    import ast

_MOST_BYTES = 1 << 20
_AROUND = 2  # Lines of code before and after the one that is shown.
_WIDTH = 160
_roots: Roots | None = None


class SourceLine(NamedTuple):
    """A line of a file as it is now, which may be newer than the trace."""

    number: int
    text: str
    here: bool  # The line that the trace names.


def read_below(roots: Roots | None) -> None:
    """From now on, have no source file of this process read but below these; None: any
    may be."""
    global _roots
    _roots = roots


def read_roots() -> Roots | None:
    """Return what `read_below` was given; None if it was not called."""
    return _roots


def program_files(file: str, folders: Iterable[str]) -> Iterator[str]:
    """Yield the files that a name could mean, all of them below one of the folders."""
    if not file.endswith(".py") or "\0" in file:
        return
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        try:
            path = os.path.realpath(os.path.join(folder, file))
            inside = os.path.relpath(path, folder).split(os.sep)
        except (OSError, ValueError):  # Such as a lone surrogate.
            continue
        # Also ".." begins with a dot. Links are resolved by now.
        hidden = any(part.startswith(".") for part in inside)
        allowed = not hidden and (_roots is None or _roots.hold(path))
        if path.endswith(".py") and allowed and is_user_file(path):
            yield path


def project_source(file: str) -> bytes | None:
    """Return the contents of a file of the user's projects: below the working folder or
    an entry of ``sys.path``. Outputs show no other file."""
    paths = program_files(file, _projects())
    return next((text for path in paths if (text := read_program(path))), None)


def code_excerpt(file: str, line: int) -> list[SourceLine]:
    """Return the line with some around it; none if the file is missing."""
    source = project_source(file)
    if source is None:
        return []
    text = source.decode("utf-8", "replace")
    # As Python counts lines; str.splitlines() knows more kinds of line ends.
    lines = text.replace("\r\n", "\n").split("\n")
    if not 1 <= line <= len(lines):
        return []
    first = max(1, line - _AROUND)
    shown = lines[first - 1 : line + _AROUND]
    return [
        SourceLine(number, text[:_WIDTH].expandtabs(4).rstrip(), number == line)
        for number, text in enumerate(shown, first)
    ]


def _projects() -> list[str]:
    """Return the folders that can be a project's: no root, nor what holds the home."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    folders = [os.path.realpath(folder) for folder in [os.getcwd(), *sys.path]]
    return [
        folder
        for folder in folders
        if os.path.dirname(folder) != folder and not home.is_relative_to(folder)
    ]


def read_program(path: str) -> bytes | None:
    """Return what is in a regular file of a sensible size."""
    try:
        with open_file(path) as stream:
            if os.fstat(stream.fileno()).st_size > _MOST_BYTES:
                return None
            return stream.read(_MOST_BYTES)
    except OSError:
        return None


def parsed_program(text: bytes | str) -> ast.Module:
    """Return the tree of a source. Raises ValueError if it does not parse."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from error
