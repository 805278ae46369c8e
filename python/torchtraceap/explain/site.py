# SPDX-License-Identifier: BSD-3-Clause
"""site.py: where a finding is in the user's code."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchtraceap.data.findings import Finding
from torchtraceap.explain.user_code import UserCode


@dataclass(frozen=True)
class Site:
    """A line, or a function of which the line is not known."""

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
