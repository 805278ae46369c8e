# SPDX-License-Identifier: BSD-3-Clause
"""stopped.py: where a program was when it had made its steps, and what it never got to.

Told of the source alone: a program is not slowed down to note which lines it runs.
Loads no torch.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import FrameType

from torchtraceap.base.source_lines import Line, display_path, is_user_file, resolve
from torchtraceap_dryrun.record import Stopped

_MOST_CALLS = 4
_RUNNER = "run_to_end"  # of script.py
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SILENT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import)


def stopped_at(frame: FrameType | None) -> Stopped:
    """Tell where the user's code is that `frame` is called by."""
    users = []
    # Around that stand the runner, and what called the command.
    while frame is not None and frame.f_code.co_name != _RUNNER:
        if is_user_file(frame.f_code.co_filename):
            users.append(frame)
        frame = frame.f_back
    if not users:
        return Stopped(None)
    first = users[0]
    line = Line(
        resolve(first.f_code.co_filename), first.f_lineno or 0, first.f_code.co_name
    )
    return Stopped(line, tuple(_not_reached(users[::-1])))


def _not_reached(frames: list[FrameType]) -> Iterator[str]:
    """Yield what follows in each function, the innermost first.

    A function that is called in a loop may have come to its end before.
    """
    found = []
    for frame in frames:
        rest, in_loop = _rest_of(frame)
        found.append(rest)
        if in_loop:
            break
    for frame, rest in zip(frames[len(found) - 1 :: -1], found[::-1], strict=True):
        file = display_path(resolve(frame.f_code.co_filename))
        if rest:
            first, last = rest[0].lineno, rest[-1].end_lineno or rest[-1].lineno
            lines = str(first) if first == last else f"{first}-{last}"
            yield f"{file}:{lines}{_calls_text(rest)}"


def _rest_of(frame: FrameType) -> tuple[list[ast.stmt], bool]:
    """Return the statements of a function, or file, that come after what it is at, and
    whether it is in a loop: what follows in that one may have been run before."""
    body, in_loop = _body_of(frame), False
    rest: list[ast.stmt] = []
    line = frame.f_lineno or 0
    while body:
        at = next((i for i, s in enumerate(body) if _holds(s, line)), None)
        if at is None:
            break
        statement = body[at]
        after = [s for s in body[at + 1 :] if not isinstance(s, _SILENT)]
        rest = after + rest
        if isinstance(statement, _LOOPS):
            in_loop = True
            break
        body = next(
            (block for block in _blocks(statement) if _holds_any(block, line)), []
        )
    return rest, in_loop


def _body_of(frame: FrameType) -> list[ast.stmt]:
    """Return the statements of the function, or file, that a frame runs."""
    code = frame.f_code
    text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if code.co_name == "<module>":
        return tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = {node.lineno, *(d.lineno for d in node.decorator_list)}
            if node.name == code.co_name and code.co_firstlineno in lines:
                return node.body
    return []


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a statement, except a definition's: that is another frame's.

    A `finally` runs although the program is ended, so it does not count as skipped.
    """
    if isinstance(statement, _SILENT):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _holds(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def _holds_any(block: list[ast.stmt], line: int) -> bool:
    return any(_holds(statement, line) for statement in block)


def _calls_text(statements: list[ast.stmt]) -> str:
    """Name what statements call, as far as it has a name: it is what they are for."""
    names: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and (name := _name(node.func)):
                names[name] = None
    if not names:
        return ""
    shown = list(names)[:_MOST_CALLS]
    return f" ({', '.join(shown)}{', ...' if len(names) > _MOST_CALLS else ''})"


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (of := _name(node.value)):
        return f"{of}.{node.attr}"
    return ""
