# SPDX-License-Identifier: BSD-3-Clause
"""call_sites.py: which lines of a source file run what a trace can name.

The source is parsed, never run. Calls without a name in a trace, such as a loop that
asks an iterator for the next element, are known by their kind: see `Site`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from torchtraceap.base.program_files import parsed_program

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
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: dict[type[ast.AST], str] = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


class Site(NamedTuple):
    """A line that runs something else.

    The kind is ``call`` of a name, ``for`` (asks for elements), ``with``, ``item``
    (``x[i]``), ``set_item`` (``x[i] = y``), or ``test`` (asks for a truth value).
    """

    kind: str
    name: str
    line: int


@dataclass
class Scope:
    """A function, or the module, with what runs in it and not in others inside it."""

    name: str
    first: int  # With decorators, as Python counts.
    line: int
    last: int
    owner: str = ""  # The class it is a method of.
    nested: bool = False
    generator: bool = False
    sites: list[Site] = field(default_factory=list)
    pauses: set[int] = field(default_factory=set)  # Lines on which it can be left.


class Source:
    """The functions of a source file, and what its names are made by.

    Raises ValueError if it is not valid Python of this version.
    """

    def __init__(self, text: bytes | str) -> None:
        tree = parsed_program(text)
        self.scopes: list[Scope] = []
        self.variables = Variables(tree)
        try:
            self._scope(tree, "<module>", 1, 1, [tree])
        except RecursionError as error:
            raise ValueError(str(error)) from error

    def scope(self, function: str, line: int) -> Scope | None:
        """Return the function that a trace names by a line of it; None if there is none
        here, as after an edit."""
        fits = [
            scope
            for scope in self.scopes
            if scope.name == function
            and (line in (scope.first, scope.line) or line in scope.pauses)
        ]
        return max(fits, key=lambda scope: scope.first, default=None)

    def _scope(
        self,
        node: ast.AST,
        name: str,
        first: int,
        line: int,
        body: list[ast.AST],
        owner: str = "",
        nested: bool = False,
    ) -> None:
        last = getattr(node, "end_lineno", None) or 1 << 31
        scope = Scope(name, first, line, last, owner, nested)
        self.scopes.append(scope)
        inner = nested or isinstance(node, _FUNCTIONS)
        for part in body:
            self._visit(part, scope, inner)

    def _visit(
        self,
        node: ast.AST,
        scope: Scope,
        inner: bool,
        owner: str = "",
        fresh: bool = True,  # Or the functions inside are known from another visit.
    ) -> None:
        scope.sites += _sites_of(node, self.variables)
        scope.pauses |= _pauses_of(node)
        scope.generator |= isinstance(node, ast.Yield | ast.YieldFrom)
        parts = list(_parts(node))
        if isinstance(node, ast.Lambda):
            if fresh:
                begin = node.lineno
                self._scope(node, "<lambda>", begin, begin, [node.body], "", inner)
            parts = [node.args]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([d.lineno for d in node.decorator_list], default=node.lineno)
            if fresh:
                body = list[ast.AST](node.body)
                self._scope(node, node.name, first, node.lineno, body, owner, inner)
            parts = [*node.decorator_list, node.args]
        elif isinstance(node, ast.ClassDef):
            # Runs as a function of its own, once, which is of no interest.
            for member in node.body if fresh else ():
                self._visit(member, Scope("", 0, 0, 0), inner, node.name)
            parts = [*node.decorator_list, *node.bases, *node.keywords]
        elif type(node) in _COMPREHENSIONS:
            if fresh:
                begin = getattr(node, "lineno", 0)
                name = _COMPREHENSIONS[type(node)]
                self._scope(node, name, begin, begin, parts, "", inner)
            # Since Python 3.12 all but generators run in the function around them.
            if isinstance(node, ast.GeneratorExp):
                parts = [node.generators[0].iter]
            fresh = False
        for part in parts:
            self._visit(part, scope, inner, fresh=fresh)


class Variables:
    """Resolves the names of a source file."""

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
                    made.update(
                        _name(call.func)
                        for call in ast.walk(value)
                        if isinstance(call, ast.Call)
                    )
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


def _sites_of(node: ast.AST, variables: Variables) -> Iterator[Site]:
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
        if isinstance(node, ast.comprehension):
            yield from (Site("test", "", test.lineno) for test in node.ifs)
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
    elif isinstance(node, ast.match_case) and node.guard is not None:
        yield Site("test", "", node.guard.lineno)
    elif (
        (isinstance(node, ast.Compare) and len(node.ops) > 1)
        or isinstance(node, ast.BoolOp)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
    ):
        yield Site("test", "", node.lineno)


def _pauses_of(node: ast.AST) -> set[int]:
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


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what of a node runs; annotations do not."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part
