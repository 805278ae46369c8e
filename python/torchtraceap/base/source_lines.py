# SPDX-License-Identifier: BSD-3-Clause
"""source_lines.py: which line of the user's own code is running, or was."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from dataclasses import dataclass

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: The folders of our own packages, which lie beside one another.
OWN_FOLDERS = tuple(_PACKAGE + end + os.sep for end in ("", "_dryrun", "_train"))


def _folders(*names: str) -> tuple[str, ...]:
    found = {path for name in names if (path := sysconfig.get_path(name))}
    return tuple(os.path.join(p, "") for p in found | set(map(os.path.realpath, found)))


_STANDARD_FOLDERS = _folders("stdlib", "platstdlib")
_INSTALLED_FOLDERS = _folders("purelib", "platlib")


@dataclass(frozen=True)
class Line:
    file: str
    line: int
    function: str
    #: False if `line` is where the function begins, and the line in it is not known.
    exact: bool = True

    def __str__(self) -> str:
        place = f"{display_path(self.file)}:{self.line}"
        return place if self.exact else f"{place} (where {self.function} begins)"


def display_path(file: str) -> str:
    """Return a path, shortened below the working folder."""
    return file.removeprefix(os.path.join(os.getcwd(), ""))


@functools.lru_cache(maxsize=4096)
def is_user_file(file: str) -> bool:
    """Tell whether a file is the user's: not installed, standard, or made up."""
    if file.startswith("<") or _is_installed(file) or is_standard_file(file):
        return False
    return not resolve(file).startswith(OWN_FOLDERS)


@functools.lru_cache(maxsize=4096)
def is_standard_file(file: str) -> bool:
    """Tell whether a file is of Python's standard library."""
    return not _is_installed(file) and resolve(file).startswith(_STANDARD_FOLDERS)


def _is_installed(file: str) -> bool:
    parts = file.replace("\\", "/").split("/")
    named = "site-packages" in parts or "dist-packages" in parts  # Of any environment.
    return named or file.startswith(_INSTALLED_FOLDERS)


@functools.lru_cache(maxsize=4096)
def resolve(file: str) -> str:
    """Return a profiler's file name as absolute: it leaves out sys.path's folders."""
    if not os.path.isabs(file):
        for folder in sys.path:
            path = os.path.abspath(os.path.join(folder, file))
            if os.path.isfile(path):
                return path
    return file


def deepest_user_line(lines: list[Line]) -> Line | None:
    """Return the innermost line in the user's own files, else the innermost one that
    is not in torch."""
    for line in lines:
        if is_user_file(line.file):
            return line
    for line in lines:
        if "/torch/" not in line.file and not resolve(line.file).startswith(
            OWN_FOLDERS
        ):
            return line
    return None
