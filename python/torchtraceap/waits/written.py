# SPDX-License-Identifier: BSD-3-Clause
"""written.py: the part of a user's line that runs, as written: `.item()`, `if t:`.

`executing` finds the part of the source that a frame is at, so the part that waits is
known even on a line that reads two values; an unknown part is left open rather than
guessed. It skips jumps, at which `if t:` asks for a value: those are found here, by the
position that Python keeps for each instruction from 3.11 on. No torch.
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

#: Instructions that ask whether something is true.
_ASKS = ("POP_JUMP", "JUMP_IF", "TO_BOOL", "COMPARE_OP", "UNARY_NOT")
_WIDTH = 40  # Of the text; a line of its own shows the rest.

# By the code that is still there; by file, too: code objects of two files are equal if
# their code is.
_KNOWN: WeakKeyDictionary[Any, dict[tuple[str, int], str]] = WeakKeyDictionary()


class _Source(Source):
    """Files that were read. Their results are kept in _KNOWN: executing's own cache
    would hold code that is gone."""

    @classmethod
    def _class_local(cls, name: str, default: Any) -> Any:
        if name == "__executing_cache":
            return {}
        return super()._class_local(name, default)


def written(frame: FrameType | None) -> str:
    """Return the code that a frame is at, in a few letters; "" if it is unknown."""
    if frame is None:
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
    # A frame that called a Python function is at the caches after that call.
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
    return _truth(node, frame) if operation.startswith(_ASKS) else ""


def _node_at(frame: FrameType, at: int) -> Any:
    """Return the outermost part of the source that is where an instruction comes from;
    None if Python does not tell."""
    if sys.version_info < (3, 11):
        return None
    source = _Source.for_frame(frame)
    begin, end, left, right = next(islice(frame.f_code.co_positions(), at // 2, None))
    if source.tree is None or begin is None:
        return None
    for statement in source.statements_at_line(begin):
        for node in ast.walk(statement):
            # Of a statement that asks, Python may give all of it.
            if (
                isinstance(node, ast.expr | ast.If | ast.While | ast.Assert)
                and (node.lineno, node.col_offset) == (begin, left)
                and (node.end_lineno, node.end_col_offset) == (end, right)
            ):
                return node
    return None


def _truth(node: Any, frame: FrameType) -> str:
    """Tell who asks whether something is true: a statement that it is a test of, or a
    part of one; else the `not`, `and` or `or` around it."""
    # Of a comprehension, Python may give all of it: then any of its conditions may ask.
    if parts := getattr(node, "generators", ()):
        tests = [test for one in parts for test in one.ifs]
        others = (ast.BoolOp, ast.UnaryOp, ast.IfExp)  # These ask by themselves.
        is_plain = tests and not any(isinstance(test, others) for test in tests)
        return "`if t:`" if is_plain else ""
    told = ""
    inner, asks = None, node
    while asks is not None:
        is_test = inner in (None, getattr(asks, "test", None))
        match asks:
            case ast.If() if is_test:
                return "`elif t:`" if _is_elif(asks, frame) else "`if t:`"
            case ast.While() if is_test:
                return "`while t:`"
            case ast.Assert() if is_test:
                return "`assert t`"
            case ast.IfExp() if is_test:
                return "`... if t else ...`"
            case ast.comprehension() if inner in asks.ifs:
                return "`if t:`"
            case ast.UnaryOp(op=ast.Not()):
                told = told or "`not t`"
            case ast.BoolOp(op=ast.And()):
                told = told or "`t and ...`"
            case ast.BoolOp():
                told = told or "`t or ...`"
            case _ if inner is not None:
                return told
        inner, asks = asks, getattr(asks, "parent", None)
    return told


def _is_elif(node: ast.If, frame: FrameType) -> bool:
    line = linecache.getline(frame.f_code.co_filename, node.lineno, frame.f_globals)
    return line.encode()[node.col_offset :].startswith(b"elif")


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
