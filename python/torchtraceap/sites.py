# SPDX-License-Identifier: BSD-3-Clause
"""sites.py: what a piece of source runs that a trace can name."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

# Asked for their elements, these run no Python; nor do views of a dict. A generator
# runs under its own name, not as __next__.
_BUILTIN = {"range", "str", "bytes", "dir", "vars"}
_VIEWS = {"items", "keys", "values", "split", "splitlines", "tolist"}
_GENERATORS = {
    *("parameters", "named_parameters", "buffers", "named_buffers"),
    *("modules", "named_modules", "children", "named_children"),
}
_THROUGH = {"enumerate", "zip", "map", "filter", "reversed", "iter"}
_CONSUMERS = {"list", "tuple", "set", "frozenset", "dict", "bytes", "deque"}
_LITERALS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict)


class Site(NamedTuple):
    """A line that runs something else.

    The kind is ``call`` of a name, ``for`` (asks for elements), ``with``, ``item``
    (``x[i]``), ``set_item`` (``x[i] = y``), or ``test`` (asks for a truth value).
    """

    kind: str
    name: str
    line: int


class Variables:
    """What the names of a source file stand for."""

    def __init__(self, tree: ast.AST) -> None:
        self.aliases: dict[str, str] = {}  # import ... as ...
        self.made_by: dict[str, set[str]] = {}  # A variable: what its values call.
        self._values: dict[str, list[ast.expr]] = {}
        self._iterated: set[str] = set()
        bound = Counter[str]()  # In whatever way, also as parameters.
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                bound[node.arg] += 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound[node.id] += 1
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                self._iterated |= {_name(part) for part in ast.walk(node.iter)}
            elif isinstance(node, ast.Call) and _name(node.func) in ("next", "iter"):
                self._iterated |= {_name(part) for part in node.args}
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if alias.asname:
                        self.aliases[alias.asname] = alias.name.rpartition(".")[2]
            for target, value in _assigned(node):
                name = _name(target)
                if name:
                    self._values.setdefault(name, []).append(value)
                    made = self.made_by.setdefault(name, set())
                    made |= {
                        _name(call.func)
                        for call in ast.walk(value)
                        if isinstance(call, ast.Call)
                    }
        self._known = {n for n, v in self._values.items() if bound[n] == len(v)}

    def is_iterated_later(self, function: str) -> bool:
        """Tell whether what a function returns is kept and then asked for elements."""
        return any(function in self.made_by.get(v, ()) for v in self._iterated)

    def run_python(self, node: ast.expr, depth: int = 4) -> bool:
        """Tell whether asking for elements can run Python."""
        if isinstance(node, _LITERALS):
            return False
        if isinstance(node, ast.Call):
            name = _name(node.func)
            if isinstance(node.func, ast.Attribute):
                return name not in _VIEWS | _GENERATORS
            if depth and name in _THROUGH | _CONSUMERS | {"sorted"}:
                return any(self.run_python(arg, depth - 1) for arg in node.args)
            return name not in _BUILTIN
        if not isinstance(node, ast.Name) or node.id not in self._known or not depth:
            return True
        return any(self.run_python(value, depth - 1) for value in self._values[node.id])


def sites_of(node: ast.AST, variables: Variables) -> Iterator[Site]:
    """Yield what a node itself runs, without its parts."""
    if isinstance(node, ast.Call):
        func = node.func
        name = _name(func)
        # In a chain over several lines, the line of the method's name.
        line = (func.end_lineno if isinstance(func, ast.Attribute) else None) or (
            func.lineno
        )
        if name:
            yield Site("call", variables.aliases.get(name, name), line)
        if name in _CONSUMERS and any(map(variables.run_python, node.args)):
            yield Site("for", "", line)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        if variables.run_python(node.iter):
            yield Site("for", "", node.iter.lineno)
    elif isinstance(node, ast.YieldFrom | ast.Starred):
        if variables.run_python(node.value):
            yield Site("for", "", node.value.lineno)
    elif isinstance(node, ast.withitem):
        yield Site("with", "", node.context_expr.lineno)
    elif isinstance(node, ast.Subscript):
        kind = "item" if isinstance(node.ctx, ast.Load) else "set_item"
        yield Site(kind, "", node.lineno)
    elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield Site("test", "", node.test.lineno)
    elif isinstance(node, ast.comprehension):
        yield from (Site("test", "", test.lineno) for test in node.ifs)
    elif isinstance(node, ast.match_case) and node.guard is not None:
        yield Site("test", "", node.guard.lineno)
    elif (
        (isinstance(node, ast.Compare) and len(node.ops) > 1)
        or isinstance(node, ast.BoolOp)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
    ):
        yield Site("test", "", node.lineno)


def pauses_of(node: ast.AST) -> set[int]:
    """Return the lines at which a function can be left to come back: at calls, also
    those of ``with``, and where a generator yields."""
    if isinstance(node, ast.Call | ast.Await | ast.Yield | ast.YieldFrom):
        return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    if isinstance(node, ast.With | ast.AsyncWith):
        return {node.lineno}
    return set()


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
