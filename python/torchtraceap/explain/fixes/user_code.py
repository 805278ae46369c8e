# SPDX-License-Identifier: BSD-3-Clause
"""user_code.py: a source file of the user's with the meaning of its names, and where a
finding is in it.

It is parsed and never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torchtraceap._core import Finding
from torchtraceap.base.program_files import parsed_program, project_source

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
LOOPS = (ast.For, ast.AsyncFor, ast.While)
#: What hands on the elements of its first argument.
_THROUGH = {"enumerate", "iter", "islice", "tqdm", "trange", "next", "cycle", "track"}


class UserCode:
    """A file as it is now, which may be newer than the trace.

    Lines are counted from 1, columns are bytes of UTF-8, as in `ast`. Raises ValueError
    for text that this version of Python does not parse.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = [line.encode() for line in text.split("\n")]
        self.tree = parsed_program(text)
        self._parents: dict[ast.AST, ast.AST] = {}
        self._aliases: dict[str, str] = {}  # Full names of imported ones.
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    self._aliases[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    self._aliases[alias.asname or alias.name] = name
        self._imports = {x for v in self._aliases.values() for x in v.split(".")}
        # A name that is also bound to something else may be either.
        for node in ast.walk(self.tree):
            for bound in _bound_by(node) if not isinstance(node, ast.alias) else ():
                self._aliases.pop(bound or "", None)

    # --- Where a node is --------------------------------------------------------------

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node lies in, the innermost first."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the statement that a node is, or is in."""
        return next(x for x in (node, *self.above(node)) if isinstance(x, ast.stmt))

    def function(self, node: ast.AST) -> ast.AST:
        """Return the function around a node, or the module."""
        return next(
            (x for x in self.above(node) if isinstance(x, FUNCTIONS)), self.tree
        )

    def loops(self, node: ast.AST) -> list[ast.For | ast.AsyncFor | ast.While]:
        """Return the loops around a node in its function, the innermost first."""
        found = []
        for x in self.above(node):
            if isinstance(x, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
                break
            if isinstance(x, LOOPS):
                found.append(x)
        return found

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements among which one stands."""
        for _, value in ast.iter_fields(self._parents[statement]):
            if isinstance(value, list) and statement in value:
                return value
        return [statement]

    def text(self, node: ast.expr) -> str:
        """Return the code of an expression."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        lines = self.lines[first : last + 1]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode()

    # --- What a line runs -------------------------------------------------------------

    def calls(self, where: ast.AST, line: int | None = None) -> list[ast.Call]:
        """Return the calls in a function or the module, not of those defined in it; or
        only those on a line, of a call over several lines any of them."""
        return [
            node
            for node in ast.walk(where)
            if isinstance(node, ast.Call)
            and self.function(node) is where
            and (line is None or node.lineno <= line <= (node.end_lineno or 0))
        ]

    def all_calls(self, *names: str) -> list[ast.Call]:
        """Return the calls of the whole file of these full names."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return [node for node in nodes if self.name(node.func) in names]

    # --- The meaning of a name --------------------------------------------------------

    def name(self, node: ast.AST) -> str:
        """Return the full name that an expression is, with imports resolved, such as
        ``torch.optim.AdamW`` or ``self.loader``; "" if it is none."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._aliases.get(node.id, node.id), *reversed(parts)])

    def imported(self, name: str) -> str:
        """Return the full name of an imported one; "" of another one."""
        return self._aliases.get(name, "")

    def names_any(self, *names: str) -> bool:
        """Tell whether one of these is a part of a name somewhere in the file, such as
        ``grad`` of ``p.grad``."""
        parts = set(self._imports)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                parts.add(node.attr)
            elif isinstance(node, ast.Name):
                parts |= set(self.name(node).split("."))
        return not parts.isdisjoint(names)

    def iterated(self, node: ast.expr) -> ast.expr:
        """Return what a loop goes over, without enumerate and the like."""
        while isinstance(node, ast.Call) and node.args:
            if self.name(node.func).rpartition(".")[2] not in _THROUGH:
                break
            node = node.args[0]
        return node

    def made_by(self, variable: ast.expr) -> ast.expr | None:
        """Return the value that a variable has: the only thing that binds it in its own
        scope, an attribute of self in its class; None if that is not sure."""
        name = self.name(variable)
        scope = self.function(variable)
        if isinstance(variable, ast.Name):
            while scope is not self.tree and not self._bindings(scope, variable.id):
                scope = self.function(scope)
            bound = self._bindings(scope, variable.id)
        else:
            classes = [x for x in self.above(variable) if isinstance(x, ast.ClassDef)]
            if not classes or not name.startswith("self.") or name.count(".") > 1:
                return None
            bound = [
                x
                for x in ast.walk(classes[0])
                if isinstance(x, ast.Attribute)
                and isinstance(x.ctx, ast.Store)
                and self.name(x) == name
            ]
        if len(bound) != 1:
            return None
        made = self._parents.get(bound[0])
        if made and isinstance(self._parents.get(made), ast.ClassDef):
            return None
        if isinstance(made, ast.Assign):
            return made.value if bound[0] in made.targets else None
        return made.value if isinstance(made, ast.AnnAssign) else None

    def _bindings(self, scope: ast.AST, name: str) -> list[ast.AST]:
        """Return what binds a name in a function or the module: assignments, imports,
        parameters, definitions, and what says that another scope's is meant."""
        return [
            x
            for x in ast.walk(self.tree)
            if name in _bound_by(x)
            and (self.function(x) is scope or isinstance(x, ast.Global | ast.Nonlocal))
        ]


def _bound_by(node: ast.AST) -> list[str | None]:
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return [*node.names]
    if isinstance(node, ast.alias):
        return [node.asname or node.name.split(".")[0]]
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs)):
        return [node.name]
    return []


@dataclass(frozen=True)
class Site:
    """Where a finding is: a line, or a function of which the line is not known."""

    code: UserCode
    finding: Finding
    where: ast.AST  #: The function, or the module.
    line: int | None

    @property
    def calls(self) -> list[ast.Call]:
        """The calls on the line or, where it is not known, of the function."""
        return self.code.calls(self.where, self.line)

    def methods(self, name: str) -> list[tuple[ast.Call, ast.expr]]:
        """Return those of a method of this name, and what it is called on."""
        return [
            (call, call.func.value)
            for call in self.calls
            if isinstance(call.func, ast.Attribute) and call.func.attr == name
        ]


def constant(node: ast.expr | None) -> object:
    """Return the value that is written there; None of anything else."""
    return node.value if isinstance(node, ast.Constant) else None


def root(node: ast.expr) -> str:
    """Return the variable that an expression is a part of, or a method of a part."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def read_user_code(file: str) -> UserCode | None:
    """Return a file of the user's projects; None if it is missing or unreadable."""
    source = project_source(file)
    try:
        return None if source is None else UserCode(file, source.decode("utf-8-sig"))
    except ValueError:  # UnicodeDecodeError is one.
        return None
