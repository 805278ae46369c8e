# SPDX-License-Identifier: BSD-3-Clause
"""location.py: a place in Python code, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torchtraceap import _core
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line

NAME_WIDTH = 40  # An operator or device.
_WIDTH = 48  # A location; the longest of real traces are far longer.


@dataclass(frozen=True)
class Location:
    """A function of Python code."""

    file: str  #: As the trace has it, often relative to a folder of sys.path.
    #: Of the call: as the trace has it, else as found in the source file; None if it is
    #: in neither, or several lines could be meant.
    line: int | None
    function: str
    user: bool  #: False if only library code was there.
    #: The line in the trace, whatever it is the line of; None stands for `line`.
    recorded_line: int | None = None
    #: Where that is: at the "call", where the "function" begins, or where it was at the
    #: "start" of recording, which says nothing of a finding.
    recorded_at: str = "call"

    def __post_init__(self) -> None:
        if self.recorded_line is None:
            object.__setattr__(self, "recorded_line", self.line)

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return f"{self.file} in {called(self.function)}"

    @property
    def text(self) -> str:
        """``train.py:88 step``; without a line, ``train.py in step()``."""
        return str(self) if self.line is None else f"{self} {self.function}"

    @property
    def begins(self) -> int | None:
        """Where the function begins, if the trace tells."""
        return self.recorded_line if self.recorded_at == "function" else None

    @property
    def nearest_line(self) -> int | None:
        """The line, or where it is not known the one at which the function begins."""
        return self.begins if self.line is None else self.line

    @property
    def names(self) -> tuple[str, ...]:
        """By what else it can be asked for: also the line in the trace counts, so that
        a name stays right where the source file is not at hand."""
        return (str(self), f"{self.file}:{self.recorded_line}")


def called(function: str) -> str:
    """Write a function so that it is read as one: ``step()``, but ``<module>``."""
    return function if function.startswith("<") else f"{function}()"


def read_location(
    frame: _core.Frame | None, line: int | None = None
) -> Location | None:
    """Convert a place, if there is one; `line` is that of the call, if it was found."""
    if frame is None:
        return None
    recorded, at = frame.line, frame.line_of
    line = recorded if at == "call" else line
    return Location(frame.file, line, frame.function, frame.user, recorded, at)


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
