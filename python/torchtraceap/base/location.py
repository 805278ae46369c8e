# SPDX-License-Identifier: BSD-3-Clause
"""location.py: a place in Python code, and how it is written."""

from __future__ import annotations

from typing import Any

from torchtraceap._core import Location
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line

NAME_WIDTH = 40  # An operator or device.
_WIDTH = 48  # A location; the longest of real traces are far longer.


def called(function: str) -> str:
    """Write a function so that it is read as one: ``step()``, but ``<module>``."""
    return function if function.startswith("<") else f"{function}()"


def whole_place(where: Location | None, name: str, *, function: bool = True) -> str:
    """Write a place whole, so that editors and terminals can go there, with its
    function unless that is left out; else the name of an operator, or that there is no
    single place."""
    if where is not None:
        return printable(where.text if function else str(where))
    return printable(name, NAME_WIDTH) or "(no single place)"


def place_text(
    where: Location | None, name: str, deepest: Location | None = None
) -> str:
    """Write a place in at most 48 characters: a source line, or where it is not known
    its function; else the name of an operator or event; "" of neither. After it, the
    deepest function with the time."""
    if where is None:
        return printable(name, NAME_WIDTH)
    file = printable(where.file)
    function = printable(where.function, NAME_WIDTH)
    if where.line is None:
        line = " in "
        function = printable(called(where.function), NAME_WIDTH)
    else:
        line = f":{where.line} "
    library = "" if where.user else " (library)"
    if where.line is None and where.begins is not None:
        library = f" (from line {where.begins})" + library  # Of many forward().
    room = _WIDTH - len(line) - len(library)
    while len(file) + len(function) > room and "/" in file[2:]:
        file = "…/" + file[2:].partition("/")[2]
    # The line number stays whole, whatever has to go.
    function = printable(function, max(room // 2, room - len(file)))
    text = printable(file, room - len(function)) + line + function + library
    if deepest is None:
        return text
    below = called(deepest.function)
    if deepest.file != where.file:
        below = f"{deepest.file.rpartition('/')[2]} {below}"
    return f"{text} > {printable(below, NAME_WIDTH)}"


def location_form(where: Location | Line | None) -> dict[str, Any] | None:
    """Return a place of the user's code as JSON has it; None without one."""
    if where is None:
        return None
    names = ["file", "line", "function"]
    if isinstance(where, Location):
        names += ["recorded_line", "recorded_at"]
    return {name: getattr(where, name) for name in names}
