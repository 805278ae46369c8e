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
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

_WIDTH = 40  # Of what is told; a line of its own shows the rest.
_TRUTH = re.compile(r"\b(if|elif|while|assert|not|and|or)[\s(]*$")
# A line that ends with the dot of a name: not of a comment, a number or an ellipsis.
_OPEN_DOT = re.compile(r"[^#]*(?:[)\]]|\b[^\W\d]\w*)\.\s*$")
_TRUTHS = {
    "if": "`if t:`",
    "elif": "`elif t:`",
    "while": "`while t:`",
    "assert": "`assert t`",
    "not": "`not t`",
    "and": "`t and ...`",
    "or": "`t or ...`",
    "else": "`... if t else ...`",
}

# What ast.parse raises of a text that is none, or too deep for it.
_NO_CODE = (SyntaxError, ValueError, RecursionError, MemoryError)

_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

# Of code that is still there; by file, too: code objects of two files are equal if
# their code is.
_KNOWN: WeakKeyDictionary[CodeType, dict[tuple[str, int], str]] = WeakKeyDictionary()


def written(frame: FrameType | None) -> str:
    """Return what a frame is at, in a few letters; "" if that cannot be told."""
    if frame is None:
        return ""
    code = frame.f_code
    known = _KNOWN.setdefault(code, {})
    key = code.co_filename, frame.f_lasti
    if key not in known:
        linecache.checkcache(code.co_filename)  # It may hold the file of another day.
        known[key] = _told(frame)
    return known[key]


class _Part(NamedTuple):
    """What of the source an instruction is of."""

    line: int  # at which it begins
    before: str  # on its first line
    text: str
    after: str  # on its last line


def _told(frame: FrameType) -> str:
    code, at = frame.f_code, frame.f_lasti
    # A frame that called a function of Python stands behind the caches of that call.
    while at > 0 and dis.opname[code.co_code[at]] == "CACHE":
        at -= 2
    part = _part(frame, at)
    if part is None:
        return ""
    try:
        node = ast.parse(f"({part.text}\n)", mode="eval").body
    except _NO_CODE:
        node = None
    operation = dis.opname[code.co_code[at]]
    if operation.startswith("FORMAT_"):
        told = 'f"{t}"'
    elif operation.startswith(("POP_JUMP", "JUMP_IF", "TO_BOOL", "COMPARE_OP")):
        told = _truth(node, part)
    elif isinstance(node, ast.Call) and _is_method(frame, part):
        # Of one on a line of its own Python gives only the name: `item()`.
        told = f".{ast.unparse(node.func)}()" if "CALL" in operation else ""
    else:
        told = _expression(node, operation, frame)
    return told if len(told) <= _WIDTH else ""


def _part(frame: FrameType, at: int) -> _Part | None:
    """Return what the instruction ``at`` is of; None if Python does not tell."""
    code = frame.f_code
    if at < 0 or sys.version_info < (3, 11):
        return None
    begin, end, left, right = next(islice(code.co_positions(), at // 2, None))
    if begin is None or end is None or left is None or right is None:
        return None
    lines = [
        linecache.getline(code.co_filename, number, frame.f_globals).encode()
        for number in range(begin, end + 1)
    ]
    before, after = lines[0][:left], lines[-1][right:]
    lines[-1] = lines[-1][:right]  # First: it may be the only one.
    lines[0] = lines[0][left:]
    texts = (before, b"".join(lines), after)
    return _Part(begin, *(text.decode("utf-8", "replace") for text in texts))


def _is_method(frame: FrameType, part: _Part) -> bool:
    """Tell whether a dot stands before a part, on its line or the one above."""
    if part.before.strip():
        return part.before.rstrip().endswith(".")
    above = linecache.getline(frame.f_code.co_filename, part.line - 1, frame.f_globals)
    return _OPEN_DOT.match(above) is not None


def _truth(node: ast.expr | None, part: _Part) -> str:
    """Tell who asks whether something is true, by the words around it."""
    if node is None:
        return _truth_of_statement(part.text, len(part.before))
    if isinstance(node, _Comprehension):
        return _TRUTHS["if"] if _is_plain(_conditions(node)) else ""
    if isinstance(node, ast.IfExp):
        return _TRUTHS["else"]
    if isinstance(node, ast.BoolOp):
        return _TRUTHS[type(node.op).__name__.lower()]
    if found := _TRUTH.search(part.before):
        return _TRUTHS[found[1]]
    return _TRUTHS.get("".join(part.after.split()[:1]), "")


def _conditions(node: _Comprehension) -> list[ast.expr]:
    return [test for generator in node.generators for test in generator.ifs]


def _truth_of_statement(text: str, indent: int) -> str:
    """Tell a statement that asks, where Python gives all of it: of tests that are no
    comparison.

    Args:
        text: From its first letter on; its other lines are whole.
        indent: How far its first line is indented.
    """
    word = re.match(r"(if|elif|while|assert)\b", text)
    if word is None:
        return ""
    as_if = text if word[1] != "elif" else "if" + text[4:]
    try:
        # What is within it is as far in as in the file, which the block has to be, too.
        ast.parse(f"if True:\n{' ' * indent}{as_if}" if indent else as_if)
    except _NO_CODE:
        return ""
    return _TRUTHS[word[1]]


def _is_plain(tests: list[ast.expr]) -> bool:
    """Tell whether nothing but the tests themselves is asked."""
    asks = (ast.BoolOp, ast.UnaryOp, ast.IfExp)
    return bool(tests) and not any(isinstance(test, asks) for test in tests)


def _expression(node: ast.expr | None, operation: str, frame: FrameType) -> str:
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
