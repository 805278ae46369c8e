# SPDX-License-Identifier: BSD-3-Clause
"""places.py: a place in someone's code as a short text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchtraceap.location import called
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.location import Location

NAME_WIDTH = 40  # An operator or device.
_WIDTH = 48  # A location; the longest of real traces are far longer.


def place_text(
    where: Location | None, name: str, deepest: Location | None = None
) -> str:
    """Write a source line, or where it is not known its function; else the name of an
    operator or event; "" of neither. After it, the deepest function with the time."""
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
    if deepest is not None:
        file = (
            "" if deepest.file == where.file else f"{deepest.file}".rpartition("/")[2]
        )
        below = f"{file} {called(deepest.function)}".strip()
        text += f" > {printable(below, NAME_WIDTH)}"
    return text
