# SPDX-License-Identifier: BSD-3-Clause
"""read_changes.py: values that the user's loops read from the device, read after them.

As in input_changes.py, a change is right as it stands, or not made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchtraceap.explain.fixes.rewrite import Rewrite, Splice, after, replaced
from torchtraceap.explain.fixes.user_code import (
    COMPLEX,
    FUNCTIONS,
    Site,
    UserCode,
    constant,
)
from torchtraceap.explain.fixes.waits import may_rely_on_waits

_PRIMARIES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


class _Read(NamedTuple):
    """A call that reads a value, and the tensor that it reads."""

    call: ast.Call
    tensor: ast.expr


def read_later(site: Site) -> Rewrite | None:
    """Keep a sum or a list on the device, and read it after the loop."""
    code = site.code
    if site.line is None or site.finding.subtype != "scalar_read":
        return None
    if may_rely_on_waits(code) or code.names_any("inference_mode", *COMPLEX):
        return None  # What inference mode made cannot be added to outside of it.
    reads = list(_reads(site))
    if len(reads) != 1 or _may_be_another(code, reads[0]):
        return None
    statements = {code.statement(read.call) for read in reads}
    for statement in statements if len(statements) == 1 else ():
        if isinstance(statement, ast.AugAssign):
            return _summed(code, statement, reads[0])
        for call, kept in site.methods("append"):
            is_whole = isinstance(statement, ast.Expr) and statement.value is call
            if is_whole and len(call.args) == 1 and call.args[0] is reads[0].call:
                return _collected(code, statement, kept, reads[0])
    return None


def _reads(site: Site) -> Iterator[_Read]:
    for call in site.calls:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "item":
            if not call.args and not call.keywords:
                yield _Read(call, function.value)
        elif site.code.name(function) == "float" and len(site.calls) == 1:
            # Nothing else is on the line that could be what waits.
            yield from (_Read(call, argument) for argument in call.args)


def _may_be_another(code: UserCode, read: _Read) -> bool:
    """Tell whether what is read may be no tensor, as something else waits there."""
    return any(
        isinstance(x, ast.IfExp | ast.BoolOp | ast.Await | ast.NamedExpr)
        or (isinstance(x, ast.Attribute) and x.attr in ("numpy", "cpu", "tolist"))
        or code.name(x).partition(".")[0] == "numpy"
        for x in ast.walk(read.tensor)
    )


def _summed(code: UserCode, statement: ast.AugAssign, read: _Read) -> Rewrite | None:
    """``total += loss.item()`` becomes ``total += loss.detach().double()``, which is
    what Python adds up; a count stays one of whole numbers."""
    name = statement.target.id if isinstance(statement.target, ast.Name) else ""
    found = _loop_of(code, statement, name) if name else None
    if found is None or not isinstance(statement.op, ast.Add):
        return None
    loop, first = found
    kind = type(constant(first))
    notes = []
    if kind is float:
        if not _is_term(code, read.call, statement):
            return None
        how = ".detach().double()"
        notes = [
            "Added up in double, as Python does; where a device has none (MPS, Intel "
            "Arc) write .float(), which rounds."
        ]
    elif kind is int and statement.value is read.call and _is_count(read):
        how = ".detach()"
    else:  # Whether whole numbers are added, or others, is not known.
        return None
    later = f"{name} = {kind.__name__}({name})  # waits once"
    splices = [_kept(code, read, how), after(loop, later, code)]
    return Rewrite(splices, notes, [loop])


def _collected(
    code: UserCode, statement: ast.stmt, kept: ast.expr, read: _Read
) -> Rewrite | None:
    """``losses.append(loss.item())`` becomes ``losses.append(loss.detach().clone())``:
    the tensor may be written to before it is read."""
    name = kept.id if isinstance(kept, ast.Name) else ""
    found = _loop_of(code, statement, name) if name else None
    if found is None or not isinstance(found[1], ast.List) or found[1].elts:
        return None
    loop, _ = found
    each = "x.item()" if isinstance(read.call.func, ast.Attribute) else "float(x)"
    later = f"{name} = [{each} for x in {name}]  # the first waits for all"
    splices = [_kept(code, read, ".detach().clone()"), after(loop, later, code)]
    return Rewrite(splices, [], [loop])


def _kept(code: UserCode, read: _Read, how: str) -> Splice:
    tensor = code.text(read.tensor)
    if not isinstance(read.tensor, _PRIMARIES):
        tensor = f"({tensor})"
    return replaced(read.call, f"{tensor}{how}")


def _is_term(code: UserCode, call: ast.Call, statement: ast.AugAssign) -> bool:
    """Tell whether only arithmetic with numbers lies between a call and its statement,
    so that a tensor can stand for the number."""
    node: ast.AST = call
    for parent in code.above(call):
        if parent is statement:
            return True
        if not isinstance(parent, ast.BinOp):
            return False
        other = parent.right if parent.left is node else parent.left
        divides = isinstance(parent.op, ast.Div) and parent.left is node
        if not divides and not isinstance(parent.op, ast.Add | ast.Sub | ast.Mult):
            return False
        if not _is_number(code, other):
            return False
        node = parent
    return False


def _is_number(code: UserCode, node: ast.expr) -> bool:
    """Tell whether an expression is a number of Python's: a literal but 0, a size."""
    if isinstance(node, ast.Name):
        made = code.made_by(node)
        return made is not None and made is not node and _is_number(code, made)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Call):
        is_size = isinstance(node.func, ast.Attribute) and node.func.attr == "size"
        return code.name(node.func) == "len" or (is_size and len(node.args) == 1)
    return type(constant(node)) in (int, float) and bool(constant(node))


def _is_count(read: _Read) -> bool:
    """Tell whether a tensor is how often something holds: ``(a == b).sum()``."""
    tensor = read.tensor
    function = tensor.func if isinstance(tensor, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr != "sum":
        return False
    by = function.value.func if isinstance(function.value, ast.Call) else None
    compared = isinstance(by, ast.Attribute) and by.attr in ("eq", "ne")
    is_plain = isinstance(tensor, ast.Call) and not tensor.args and not tensor.keywords
    return is_plain and (compared or isinstance(function.value, ast.Compare))


def _loop_of(
    code: UserCode, statement: ast.stmt, name: str
) -> tuple[ast.For | ast.AsyncFor | ast.While, ast.expr] | None:
    """Return the loop before which a local variable is set, with its value there, if
    from then to the loop's end only the statement has to do with the variable."""
    function = code.function(statement)
    uses = [x for x in ast.walk(code.tree) if isinstance(x, ast.Name) and x.id == name]
    for loop in code.loops(statement):
        sets = [
            x
            for x in code.block(loop)
            if isinstance(x, ast.Assign)
            and x.lineno < loop.lineno
            and [code.name(target) for target in x.targets] == [name]
        ]
        if not sets:
            continue
        begin, end = sets[-1].lineno, loop.end_lineno or loop.lineno
        between = [x for x in uses if begin <= x.lineno <= end]
        # Functions that see the variable may run in the loop; so may handlers after it.
        if (
            len(between) != 2
            or loop.orelse
            or any(isinstance(x, ast.Try) for x in code.above(loop))
            or any(_is_elsewhere(code, x, function) for x in uses)
            or any(
                isinstance(x, ast.Global | ast.Nonlocal) and name in x.names
                for x in ast.walk(code.tree)
            )
        ):
            return None
        return loop, sets[-1].value
    return None


def _is_elsewhere(code: UserCode, use: ast.Name, function: ast.AST) -> bool:
    """Tell whether a use lies in a function within that of a variable."""
    inner = False
    for x in code.above(use):
        if x is function:
            return inner
        inner = inner or isinstance(x, _SCOPES)
    return False
