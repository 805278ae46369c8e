# SPDX-License-Identifier: BSD-3-Clause
"""read_changes.py: values that the user's code reads from the device, read later.

As in input_changes.py, a change is right as it stands, or not made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchtraceap.explain.fixes.rewrite import Rewrite, Splice, after, replaced
from torchtraceap.explain.fixes.user_code import LOOPS, Site, UserCode, constant

_EVERY = 100  # Steps.
_NUMBERS = ("step", "number", "i")  # Names for the number of a step.
_PRIMARIES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
#: What only tells people of a value: it may do so less often.
_TELLS = {
    *("print", "info", "debug", "log", "add_scalar", "set_postfix", "write"),
    *("set_description", "warning"),
}
#: What may run less often as well.
_HARMLESS = {
    *("item", "detach", "cpu", "float", "mean", "sum", "round", "str", "format"),
    *("int", "len", "get_last_lr", "time", "perf_counter", "tolist"),
}


class _Read(NamedTuple):
    """A call that reads a value, and the tensor that it reads."""

    call: ast.Call
    tensor: ast.expr


def read_later(site: Site) -> Rewrite | None:
    """Keep a value on the device, and read it after the loop or every N steps."""
    code = site.code
    if site.line is None:
        return None
    reads = list(_reads(site))
    statements = {code.statement(read.call) for read in reads}
    if len(statements) > 1:
        return None
    for statement in statements:
        if isinstance(statement, ast.AugAssign):
            return _summed(code, statement, reads)
        if isinstance(statement, ast.Return) and len(reads) == 1:
            return _returned(code, statement, reads[0])
        for call, kept in site.methods("append"):
            if call is _call_of(statement) and call.args == [reads[0].call]:
                return _collected(code, statement, kept, reads[0])
    return _told_less(site)


def _reads(site: Site) -> Iterator[_Read]:
    for call in site.calls:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr == "item":
            if not call.args and not call.keywords:
                yield _Read(call, function.value)
        elif site.code.name(function) == "float" and len(site.calls) == 1:
            # Nothing else is on the line that could be what waits.
            yield from (_Read(call, argument) for argument in call.args)


def _summed(
    code: UserCode, statement: ast.AugAssign, reads: list[_Read]
) -> Rewrite | None:
    """``total += loss.item()`` becomes ``total += loss.detach()``."""
    name = statement.target.id if isinstance(statement.target, ast.Name) else ""
    whole = all(_is_term(code, read.call, statement) for read in reads)
    if not name or not whole or not isinstance(statement.op, ast.Add):
        return None
    if not code.imported("torch"):
        return None
    loop = _loop_of(code, statement, name, (int, float))
    if loop is None:
        return None
    later = f"{name} = torch.as_tensor({name}).item()  # waits once"
    return Rewrite(
        [*(_detached(code, read) for read in reads), after(loop, later, code)],
        ["The sum is made in the tensors' own type, not in Python's: digits differ."],
        [loop],
    )


def _collected(
    code: UserCode, statement: ast.stmt, kept: ast.expr, read: _Read
) -> Rewrite | None:
    """``losses.append(loss.item())`` becomes ``losses.append(loss.detach().clone())``:
    the tensor may be written to before it is read."""
    splice = _detached(code, read, ".detach().clone()")
    name = kept.id if isinstance(kept, ast.Name) else ""
    loop = _loop_of(code, statement, name, (list,)) if name else None
    if loop is None:
        listed = code.text(kept)
        note = f"Tensors are kept: read them at the end, [x.item() for x in {listed}]."
        return Rewrite([splice], [note])
    later = f"{name} = [x.item() for x in {name}]  # the first waits for all"
    return Rewrite([splice, after(loop, later, code)], [], [loop])


def _returned(code: UserCode, statement: ast.Return, read: _Read) -> Rewrite | None:
    """``return loss.item()`` becomes ``return loss.detach()``."""
    if statement.value is not read.call:
        return None
    note = "Returns a tensor: callers add it up, and read it with .item() in the end."
    return Rewrite([_detached(code, read)], [note])


def _told_less(site: Site) -> Rewrite | None:
    """Print or log only in every so manieth step of the loop."""
    code = site.code
    statements = {code.statement(call) for call in site.calls}
    if len(statements) != 1:
        return None
    (statement,) = statements
    call = _call_of(statement)
    loop = next(iter(code.loops(statement)), None)
    if call is None or not isinstance(loop, ast.For) or statement not in loop.body:
        return None
    if len(code.block(statement)) < 2:  # It would be all that the loop does.
        return None
    name = code.name(call.func).rpartition(".")[2]
    if name not in _TELLS or statement.lineno != statement.end_lineno:
        return None
    others = {code.name(x.func).rpartition(".")[2] for x in site.calls if x is not call}
    if others - _HARMLESS:
        return None
    splices = []
    number = _counter(code, loop)
    if not number:
        used = {x.id for x in ast.walk(code.tree) if isinstance(x, ast.Name)}
        number = next((name for name in _NUMBERS if name not in used), "")
        if not number or not code.name(loop.iter):
            return None
        splices = [
            replaced(loop.target, f"{number}, {_as_one(code, loop.target)}"),
            replaced(loop.iter, f"enumerate({code.text(loop.iter)})"),
        ]
    indent = code.lines[statement.lineno - 1][: statement.col_offset].decode()
    unit = "\t" if indent.endswith("\t") else "    "
    guarded = f"if {number} % {_EVERY} == 0:\n{indent}{unit}{code.text(call)}"
    note = f"Says it in every {_EVERY}th step only."
    return Rewrite([*splices, replaced(call, guarded)], [note], [loop])


def _counter(code: UserCode, loop: ast.For) -> str:
    """Return the number of a loop's step: of ``for i, x in enumerate(...)``, of
    ``for i in range(...)``."""
    over, target = loop.iter, loop.target
    function = code.name(over.func) if isinstance(over, ast.Call) else ""
    if function == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif function != "range":
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def _as_one(code: UserCode, target: ast.expr) -> str:
    """Return what a loop assigns to, in parentheses if it is several."""
    text = code.text(target)
    if (
        not isinstance(target, ast.Tuple)
        or target.elts[0].col_offset > target.col_offset
    ):
        return text
    return f"({text})"


def _call_of(statement: ast.stmt) -> ast.Call | None:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value if isinstance(value, ast.Call) else None


def _detached(code: UserCode, read: _Read, how: str = ".detach()") -> Splice:
    tensor = code.text(read.tensor)
    if not isinstance(read.tensor, _PRIMARIES):
        tensor = f"({tensor})"
    return replaced(read.call, f"{tensor}{how}")


def _is_term(code: UserCode, call: ast.Call, statement: ast.AugAssign) -> bool:
    """Tell whether only arithmetic lies between a call and its statement, so that a
    tensor can stand for the number."""
    for node in code.above(call):
        if node is statement:
            return True
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, _ARITHMETIC):
            return False
    return False


def _loop_of(
    code: UserCode, statement: ast.stmt, name: str, kinds: tuple[type, ...]
) -> ast.stmt | None:
    """Return the loop before which a variable is set to a number or an empty list, and
    within which nothing but the statement has to do with it."""
    function = code.function(statement)
    for loop in code.loops(statement):
        set_here = [
            x
            for x in code.block(loop)
            if isinstance(x, ast.Assign)
            and x.lineno < loop.lineno
            and [code.name(target) for target in x.targets] == [name]
        ]
        if not set_here:
            continue
        value = set_here[-1].value
        empty = isinstance(value, ast.List) and not value.elts and list in kinds
        number = type(constant(value)) in kinds
        uses = [
            x
            for x in ast.walk(function)
            if isinstance(x, ast.Name) and x.id == name and _within(x, loop)
        ]
        outside = any(
            isinstance(x, ast.Global | ast.Nonlocal) and name in x.names
            for x in ast.walk(code.tree)
        )
        alone = all(code.statement(x) is statement for x in uses) and len(uses) == 1
        is_safe = alone and not outside and isinstance(loop, LOOPS) and not loop.orelse
        return loop if (empty or number) and is_safe else None
    return None


def _within(node: ast.expr, loop: ast.stmt) -> bool:
    return loop.lineno <= node.lineno <= (loop.end_lineno or loop.lineno)
