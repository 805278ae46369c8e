# SPDX-License-Identifier: BSD-3-Clause
"""written.py: what of a user's line is running, as they wrote it: `.item()`, `if t:`.

Python keeps, from 3.11 on, where in its line each instruction comes from. So it is
known, also on a line that reads two values, which part of it waits; what is not known
is left open rather than guessed. Loads no torch.
"""

from __future__ import annotations

import ast
import dis
import linecache
import re
import sys
from itertools import islice
from types import CodeType, FrameType, ModuleType

_WIDTH = 40  # Of what is told; a line of its own shows the rest.
_TRUTH = re.compile(r"\b(if|elif|while|assert|not|and|or)[\s(]*$")
_TRUTHS = {
    "if": "`if t:`",
    "elif": "`elif t:`",
    "while": "`while t:`",
    "assert": "`assert t`",
    "not": "`not t`",
    "and": "`t and ...`",
    "or": "`t or ...`",
    "else": "`... if t else ...`",
    "for": "`for ... if t`",
}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# By file, too: code objects of two files are equal if their code is.
_KNOWN: dict[tuple[str, CodeType, int], str] = {}


def written(frame: FrameType | None) -> str:
    """Return what a frame is at, in a few letters; "" if that cannot be told."""
    if frame is None or sys.version_info < (3, 11):
        return ""
    code = frame.f_code
    key = code.co_filename, code, frame.f_lasti
    if key not in _KNOWN:
        _KNOWN[key] = _told(frame)
    return _KNOWN[key]


def _told(frame: FrameType) -> str:
    code, at = frame.f_code, frame.f_lasti
    # A frame that called a function of Python stands behind the caches of that call.
    while at > 0 and dis.opname[code.co_code[at]] == "CACHE":
        at -= 2
    if at < 0 or sys.version_info < (3, 11):
        return ""
    begin, end, left, right = next(islice(code.co_positions(), at // 2, None))
    if begin is None or end is None or left is None or right is None:
        return ""
    lines = [
        linecache.getline(code.co_filename, number, frame.f_globals).encode()
        for number in range(begin, end + 1)
    ]
    before, rest = lines[0][:left], lines[-1][right:]
    lines[-1] = lines[-1][:right]  # First: it may be the only one.
    lines[0] = lines[0][left:]
    text = b"".join(lines).decode("utf-8", "replace")
    node = _parsed(text, left)
    operation = dis.opname[code.co_code[at]]
    if operation.startswith("FORMAT_"):
        told = 'f"{t}"'
    elif operation.startswith(("POP_JUMP", "JUMP_IF", "TO_BOOL", "COMPARE_OP")):
        keyword = text.split(maxsplit=1)[0].partition("(")[0] if text.strip() else ""
        told = _truth(node, keyword, before.decode("utf-8", "replace"), rest.split())
    else:
        told = _expression(node, operation, frame)
    return told if len(told) <= _WIDTH else ""


def _parsed(text: str, indent: int) -> ast.AST | None:
    """Return the expression, or the statement, that is written somewhere."""
    statement = " " * indent + re.sub(r"^elif\b", "if", text)
    block = f"if True:\n{statement}" if indent else statement
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    try:
        (node,) = ast.parse(block).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return node.body[0] if indent and isinstance(node, ast.If) else node


def _truth(node: ast.AST | None, keyword: str, before: str, after: list[bytes]) -> str:
    """Tell who asks whether something is true, by the words around it."""
    if isinstance(node, ast.If | ast.While | ast.Assert):
        return _TRUTHS[keyword]
    if isinstance(node, ast.IfExp):
        return _TRUTHS["else"]
    if isinstance(node, _COMPREHENSIONS):
        return _TRUTHS["for"]
    if isinstance(node, ast.BoolOp):
        return _TRUTHS[type(node.op).__name__.lower()]
    if found := _TRUTH.search(before):
        return _TRUTHS[found[1]]
    return _TRUTHS.get(b"".join(after[:1]).decode("utf-8", "replace"), "")


def _expression(node: ast.AST | None, operation: str, frame: FrameType) -> str:
    match node:
        case ast.Call() if "CALL" in operation:
            return _call(node.func, frame)
        case ast.Subscript():
            told = ast.unparse(node)
            told = told if len(told) < _WIDTH * 3 // 4 else "x[...]"
            return f"{told} = ..." if operation.startswith("STORE") else told
        case ast.UnaryOp(op=ast.Not()):
            return _TRUTHS["not"]
        case ast.Compare() if operation == "CONTAINS_OP":
            return "`in`"
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return '"..." % t'
    return ""


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
