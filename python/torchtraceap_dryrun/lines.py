# SPDX-License-Identifier: BSD-3-Clause
"""lines.py: which of the user's lines are running, told for every operator.

Walking and telling lines apart is most of what a record costs, so each place is made
once and kept. Loads no torch.
"""

from __future__ import annotations

from types import FrameType

from torchtraceap.base.source_lines import (
    OWN_FOLDERS,
    Line,
    is_standard_file,
    is_user_file,
    resolve,
)

#: Of the user's lines, how many are kept of a stack: enough to tell paths apart.
DEPTH = 16

# By file: code objects of two files are equal if their code is.
_USERS: dict[str, bool] = {}
_LINES: dict[tuple[str, int, str], Line] = {}


def user_stack(frame: FrameType | None) -> tuple[Line, ...]:
    """Return the lines of the user's own files that are running, innermost first; if
    there is none, the innermost line of another library than torch, if any."""
    lines: list[Line] = []
    start = frame
    while frame is not None and len(lines) < DEPTH:
        file = frame.f_code.co_filename
        users = _USERS.get(file)
        if users is None:
            users = _USERS[file] = is_user_file(file)
        if users:
            lines.append(_line(frame))
        frame = frame.f_back
    if lines:
        return tuple(lines)
    inner = library_line(start)
    return (inner,) if inner else ()


def library_line(frame: FrameType | None) -> Line | None:
    """Return the innermost line that is running outside of torch and of Python's own
    library, whose ever it is."""
    while frame is not None:
        file = frame.f_code.co_filename
        torchs = file.startswith("<") or "/torch/" in file.replace("\\", "/")
        pythons = torchs or is_standard_file(file)
        if not pythons and not resolve(file).startswith(OWN_FOLDERS):
            return _line(frame)
        frame = frame.f_back
    return None


def frame_at(frame: FrameType | None, line: Line) -> FrameType | None:
    """Return the innermost frame that is running a line."""
    while frame is not None:
        code = frame.f_code
        at = frame.f_lineno, code.co_name, resolve(code.co_filename)
        if at == (line.line, line.function, resolve(line.file)):
            return frame
        frame = frame.f_back
    return None


def _line(frame: FrameType) -> Line:
    code = frame.f_code
    key = code.co_filename, frame.f_lineno or 0, code.co_name
    line = _LINES.get(key)
    if line is None:
        line = _LINES[key] = Line(resolve(key[0]), key[1], key[2])
    return line
