# SPDX-License-Identifier: BSD-3-Clause
"""written.py: what of a user's line is running, as they wrote it: `.item()`, `if t:`.

Python keeps, from 3.11 on, where in its line each instruction comes from, and
`executing` finds the part of the source. So it is known, also on a line that reads two
values, which part of it waits; what is not known is left open rather than guessed.
`executing` leaves jumps aside, at which `if t:` asks for a value: those are found here,
by their place. Loads no torch.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from itertools import islice
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from executing import Source

_WIDTH = 40  # Of what is told; a line of its own shows the rest.

# By the code that is still there; by file, too: code objects of two files are equal if
# their code is.
_KNOWN: WeakKeyDictionary[Any, dict[tuple[str, int], str]] = WeakKeyDictionary()


class _Source(Source):
    """Files that were read. What is found in them is kept in _KNOWN: executing's own
    memory would hold code that is gone."""

    @classmethod
    def _class_local(cls, name: str, default: Any) -> Any:
        if name == "__executing_cache":
            return {}
        return super()._class_local(name, default)


def written(frame: FrameType | None) -> str:
    """Return what a frame is at, in a few letters; "" if that cannot be told."""
    if frame is None or sys.version_info < (3, 11):
        return ""
    code = frame.f_code
    known = _KNOWN.setdefault(code, {})
    key = code.co_filename, frame.f_lasti
    if key not in known:
        linecache.checkcache(code.co_filename)  # It may hold the file of another day.
        told = _told(frame)
        known[key] = told if len(told) <= _WIDTH else ""
    return known[key]


def _told(frame: FrameType) -> str:
    code, at = frame.f_code, frame.f_lasti
    # A frame that called a function of Python stands behind the caches of that call.
    while at > 0 and dis.opname[code.co_code[at]] == "CACHE":
        at -= 2
    operation = dis.opname[code.co_code[at]]
    if operation.startswith("FORMAT_"):
        return 'f"{t}"'
    node = _Source.executing(frame).node or _node_at(frame, at)
    match node:
        case None:
            return ""
        case ast.Call() if "CALL" in operation:
            return _call(node.func, frame)
        case ast.Subscript():
            told = ast.unparse(node)
            told = told if len(told) < _WIDTH * 3 // 4 else "x[...]"
            return f"{told} = ..." if operation.startswith("STORE") else told
        case ast.Compare() if operation == "CONTAINS_OP":
            return "`in`"
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return '"..." % t'
    asks = ("POP_JUMP", "JUMP_IF", "TO_BOOL", "COMPARE_OP", "UNARY_NOT")
    return _truth(node, frame) if operation.startswith(asks) else ""


def _node_at(frame: FrameType, at: int) -> Any:
    """Return the outermost part of the source that is where an instruction comes from;
    None if Python does not tell."""
    code, source = frame.f_code, _Source.for_frame(frame)
    begin, end, left, right = next(islice(code.co_positions(), at // 2, None))
    if source.tree is None or begin is None:
        return None
    place = begin, left, end, right
    for statement in source.statements_at_line(begin):
        for node in ast.walk(statement):
            # Of a statement that asks, Python may give all of it.
            if isinstance(
                node, ast.expr | ast.If | ast.While | ast.Assert
            ) and place == (
                node.lineno,
                node.col_offset,
                node.end_lineno,
                node.end_col_offset,
            ):
                return node
    return None


def _truth(node: Any, frame: FrameType) -> str:
    """Tell who asks whether something is true: a statement, or what is around it."""
    for asks in (node, node.parent):
        test = getattr(asks, "test", None)
        match asks:
            case ast.IfExp() if node in (asks, test):
                return "`... if t else ...`"
            case ast.If() if node in (asks, test):
                return "`elif t:`" if _is_elif(asks, frame) else "`if t:`"
            case ast.While() if node in (asks, test):
                return "`while t:`"
            case ast.Assert() if node in (asks, test):
                return "`assert t`"
            case ast.UnaryOp(op=ast.Not()):
                return "`not t`"
            case ast.BoolOp(op=ast.And()):
                return "`t and ...`"
            case ast.BoolOp():
                return "`t or ...`"
            case ast.comprehension() if node in asks.ifs:
                return "`if t:`"
    # Of a comprehension, Python may give all of it: then any of its conditions may ask.
    parts = getattr(node, "generators", ())
    return "`if t:`" if _is_plain([test for one in parts for test in one.ifs]) else ""


def _is_elif(node: ast.If, frame: FrameType) -> bool:
    line = linecache.getline(frame.f_code.co_filename, node.lineno, frame.f_globals)
    return line.encode()[node.col_offset :].startswith(b"elif")


def _is_plain(tests: list[ast.expr]) -> bool:
    """Tell whether nothing but the tests themselves is asked."""
    asks = (ast.BoolOp, ast.UnaryOp, ast.IfExp)
    return bool(tests) and not any(isinstance(test, asks) for test in tests)


def _call(function: ast.expr, frame: FrameType) -> str:
    """Tell a call: `float()`, `torch.where()` of a module, `.item()` of all else."""
    if isinstance(function, ast.Name):
        return f"{function.id}()"
    if not isinstance(function, ast.Attribute):
        return ""
    root = function.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name):
        known = frame.f_globals.get(root.id)
        local = root.id in frame.f_code.co_varnames
        if isinstance(known, ModuleType) and not local:
            return f"{ast.unparse(function)}()"
    return f".{function.attr}()"
