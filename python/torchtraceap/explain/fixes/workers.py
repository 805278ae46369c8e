# SPDX-License-Identifier: BSD-3-Clause
"""workers.py: whether other processes can load what a loader of the user's does."""

from __future__ import annotations

import ast

from torchtraceap.explain.fixes.rewrite import keyword_of
from torchtraceap.explain.fixes.user_code import (
    FUNCTIONS,
    LOOPS,
    UserCode,
    constant,
    root,
)


def can_have_workers(code: UserCode, loader: ast.Call) -> bool:
    """Tell whether other processes can load what a loader does.

    Where they are not forked (Windows, macOS, Linux from Python 3.14) they import the
    file, and get all that the loader holds pickled. A dataset that is iterated would
    come from each of them whole.
    """
    if any(isinstance(x, ast.Lambda) for x in ast.walk(code.tree)):
        return False
    inner = {
        x.name
        for x in ast.walk(code.tree)
        if isinstance(x, (*FUNCTIONS, ast.ClassDef)) and _lies_in_function(code, x)
    }
    dataset = _dataset(loader)
    made = code.made_by(dataset) if dataset else None
    held = [x for part in (loader, made) if part for x in ast.walk(part)]
    if inner & {x.id for x in held if isinstance(x, ast.Name)}:
        return False
    if not _has_length(code, loader, made or dataset):
        return False
    return not any(_runs_on_import(code, x, loader) for x in code.tree.body)


def _dataset(loader: ast.Call) -> ast.expr | None:
    return loader.args[0] if loader.args else keyword_of(loader, "dataset")


def _lies_in_function(code: UserCode, node: ast.AST) -> bool:
    function = code.function(node)
    in_class = isinstance(next(code.above(node), None), ast.ClassDef)
    return function is not code.tree and not in_class


def _has_length(code: UserCode, loader: ast.Call, made: ast.expr | None) -> bool:
    """Tell whether a dataset is one of indices, and not one that is iterated."""
    if constant(keyword_of(loader, "shuffle")) is True:
        return True  # An iterated one cannot be shuffled.
    if keyword_of(loader, "sampler") or keyword_of(loader, "batch_sampler"):
        return True
    name = code.name(made.func) if isinstance(made, ast.Call) else ""
    return name == "torch.utils.data.TensorDataset" or any(
        isinstance(x, ast.ClassDef)
        and x.name == name
        and any(isinstance(y, FUNCTIONS) and y.name == "__getitem__" for y in x.body)
        for x in code.tree.body
    )


def _runs_on_import(code: UserCode, statement: ast.stmt, loader: ast.Call) -> bool:
    """Tell whether a statement of the module runs the program, with no ``if __name__ ==
    "__main__"`` to keep it from that: a loop, a call for its effect, or one of the
    file's functions."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    if isinstance(statement, ast.If) and "__name__" in code.text(statement.test):
        return False
    own = {x.name for x in code.tree.body if isinstance(x, FUNCTIONS)}
    for x in ast.walk(statement):
        if isinstance(x, LOOPS):
            return True
        if isinstance(x, ast.Call) and x is not loader:
            for_effect = isinstance(code.statement(x), ast.Expr)
            # What an import brings, such as torch.manual_seed, may run again.
            if for_effect and not code.imported(root(x.func)):
                return True
            if root(x.func) in own or any(code.made_by(a) is loader for a in x.args):
                return True
    return False


def changes_later(code: UserCode, loader: ast.Call) -> bool:
    """Tell whether the program sets something of a loader's dataset, of which workers
    that stay keep a copy."""
    dataset = _dataset(loader)
    name = code.name(dataset) if dataset else ""
    wholes = [
        code.name(x.value)
        for x in ast.walk(code.tree)
        if isinstance(x, ast.Attribute)
        and (isinstance(x.ctx, ast.Store) or x.attr.startswith(("set_", "shuffle")))
    ]
    getters = [
        x
        for x in ast.walk(code.tree)
        if isinstance(x, FUNCTIONS) and x.name == "__getitem__"
    ]
    if any(
        isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store)
        for getter in getters
        for x in ast.walk(getter)
    ):
        return True
    return any(
        whole and (whole == name or whole.endswith(".dataset")) for whole in wholes
    )
