# SPDX-License-Identifier: BSD-3-Clause
"""rewrite.py: code before and after a change of a few places, the rest as it stands."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from torchtraceap.base.program_files import parsed_program
from torchtraceap.explain.explanation import CodeChange
from torchtraceap.explain.fixes.user_code import UserCode

_COMMENT = re.compile(rb"#[^\n]*")


class Place(NamedTuple):
    """Between two bytes of a line."""

    line: int
    column: int


class Splice(NamedTuple):
    """New text in place of a stretch of code."""

    begin: Place
    end: Place
    text: str


@dataclass
class Rewrite:
    """Splices, and what they alter in a program's results."""

    splices: list[Splice]
    #: What to know before making the change: comments above the new code.
    notes: list[str] = field(default_factory=list)


def replaced(node: ast.expr, text: str) -> Splice:
    """Put other code in place of an expression."""
    end = Place(node.end_lineno or node.lineno, node.end_col_offset or 0)
    return Splice(Place(node.lineno, node.col_offset), end, text)


def without(statement: ast.stmt, code: UserCode) -> Splice:
    """Take out a statement, with its line where it stands alone."""
    last = statement.end_lineno or statement.lineno
    others = [x for x in code.block(statement) if x is not statement]
    beside = any(
        statement.lineno <= (x.end_lineno or 0) and x.lineno <= last for x in others
    )
    if beside or not others:
        end = Place(last, statement.end_col_offset or 0)
        begin = Place(statement.lineno, statement.col_offset)
        return Splice(begin, end, "pass")
    return Splice(Place(statement.lineno, 0), Place(last + 1, 0), "")


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword argument, if it is given."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def with_keywords(
    code: UserCode, call: ast.Call, values: Mapping[str, str]
) -> list[Splice]:
    """Give a call keyword arguments; those that it has by these names stay.

    Returns nothing where they may be in what is passed on (``**options``), or the call
    is written in a way that leaves no sure place for them.
    """
    given = {k.arg: k.value for k in call.keywords}
    if None in given or any(isinstance(arg, ast.Starred) for arg in call.args):
        return []
    new = [f"{name}={value}" for name, value in values.items() if name not in given]
    if not new:
        return []
    line, column = call.end_lineno or call.lineno, (call.end_col_offset or 1) - 1
    arguments = [*call.args, *(k.value for k in call.keywords)]
    if not arguments:
        at = Place(line, column)
        return [Splice(at, at, ", ".join(new))]
    last = max(arguments, key=lambda a: (a.end_lineno or 0, a.end_col_offset or 0))
    end = Place(last.end_lineno or 0, last.end_col_offset or 0)
    tail = _COMMENT.sub(b"", _between(code, end, Place(line, column)))
    comma = tail.strip() == b","
    if tail.strip() and not comma:  # Such as a parenthesis around the argument.
        return []
    if code.lines[line - 1][:column].strip():  # The call ends on the argument's line.
        text = (" " if comma else ", ") + ", ".join(new)
        at = Place(line, column) if comma else end
        return [Splice(at, at, text)]
    if last.lineno == call.lineno:
        return []
    head = code.lines[last.lineno - 1]
    indent = head[: len(head) - len(head.lstrip())].decode()
    lines = "".join(f"{indent}{text},\n" for text in new)
    below = Splice(Place(line, 0), Place(line, 0), lines)
    last_one = [] if comma else [Splice(end, end, ",")]
    return [*last_one, below]


def change_by(rewrite: Rewrite, code: UserCode) -> CodeChange | None:
    """Return the code around the splices before and after; None if a result
    does not parse, so that it is not offered."""
    splices = sorted(set(rewrite.splices))
    if not splices or any(a.end > b.begin for a, b in pairwise(splices)):
        return None
    notes = "".join(
        f"# {line}\n" for note in rewrite.notes for line in textwrap.wrap(note, 84)
    )
    regions = _regions(splices, code)
    try:
        parsed_program(_spliced(code, splices, 1, len(code.lines)))
        before = _shown(regions, [], code)
        return CodeChange(
            before,
            notes + _shown(regions, splices, code),
            f"{code.file}:{', '.join(str(first) for first, _ in regions)}",
        )
    except ValueError:
        return None


def _between(code: UserCode, begin: Place, end: Place) -> bytes:
    lines = code.lines[begin.line - 1 : end.line]
    lines[-1] = lines[-1][: end.column]
    lines[0] = lines[0][begin.column :]
    return b"\n".join(lines)


def _spliced(code: UserCode, splices: Sequence[Splice], first: int, last: int) -> str:
    """Return lines of the file with what is put into them."""
    starts = [0]
    for line in code.lines[first - 1 : last]:
        starts.append(starts[-1] + len(line) + 1)
    text = b"".join(line + b"\n" for line in code.lines[first - 1 : last])
    for s in reversed(splices):
        begin = starts[s.begin.line - first] + s.begin.column
        end = starts[s.end.line - first] + s.end.column
        text = text[:begin] + s.text.encode() + text[end:]
    return text.decode()


def _regions(splices: Sequence[Splice], code: UserCode) -> list[tuple[int, int]]:
    """Return the first and last lines of the statements that change, of a compound one
    only those of its head."""
    found = []
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.stmt):
            continue
        last = node.end_lineno or node.lineno
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        if body := getattr(node, "body", None):
            last = max(first, body[0].lineno - 1)
        if any(first <= s.begin.line <= last for s in splices):
            found.append((first, last))
    joined: list[tuple[int, int]] = []
    for first, last in sorted(found):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _shown(
    regions: Sequence[tuple[int, int]], splices: Sequence[Splice], code: UserCode
) -> str:
    """Return the regions one after the other, flush left.

    Raises ValueError if that does not parse.
    """
    pieces = []
    for first, last in regions:
        here = [s for s in splices if first <= s.begin.line <= last]
        if text := textwrap.dedent(_spliced(code, here, first, last)):
            pieces.append(_completed(text))
    return "...\n".join(pieces)


def _completed(text: str) -> str:
    """Give the head of a compound statement a body.

    Raises ValueError if that makes it no Python either.
    """
    try:
        parsed_program(text)
    except ValueError:
        head = text.rstrip().rpartition("\n")[2]
        text += f"{head[: len(head) - len(head.lstrip())]}    ...\n"
        parsed_program(text)
    return text
