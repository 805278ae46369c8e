# SPDX-License-Identifier: BSD-3-Clause
"""places.py: a place in someone's code as a short text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.findings import Location

NAME_WIDTH = 40  # An operator or device.
_WIDTH = 48  # A location; the longest of real traces are far longer.


def place_text(where: Location | None, name: str) -> str:
    """Write a source line, else the name of an operator or event; "" of neither."""
    if where is None:
        return printable(name, NAME_WIDTH)
    file = printable(where.file)
    function = printable(where.function, NAME_WIDTH)
    line, library = f":{where.line} ", "" if where.user else " (library)"
    room = _WIDTH - len(line) - len(library)
    while len(file) + len(function) > room and "/" in file[2:]:
        file = "…/" + file[2:].partition("/")[2]
    # The line number stays whole, whatever has to go.
    function = printable(function, max(room // 2, room - len(file)))
    return printable(file, room - len(function)) + line + function + library
