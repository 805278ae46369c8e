# SPDX-License-Identifier: BSD-3-Clause
"""call_sites.py: which lines of a source file call what, function by function.

The source is parsed, never run. What has no name in a trace, such as a loop that asks
an iterator for the next element, is known by its kind: see `Site`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchtraceap.sites import Site, Variables, pauses_of, sites_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: dict[type[ast.AST], str] = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


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

    Raises ValueError if it is no Python of this version.
    """

    def __init__(self, text: bytes | str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(str(error)) from error
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
        scope.sites += sites_of(node, self.variables)
        scope.pauses |= pauses_of(node)
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
            name, begin = _COMPREHENSIONS[type(node)], _lineno(node)
            if fresh:
                self._scope(node, name, begin, begin, parts, "", inner)
            # Since Python 3.12 all but generators run in the function around them.
            if isinstance(node, ast.GeneratorExp):
                parts = [node.generators[0].iter]
            fresh = False
        for part in parts:
            self._visit(part, scope, inner, fresh=fresh)


def _lineno(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what of a node runs; annotations do not."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part
