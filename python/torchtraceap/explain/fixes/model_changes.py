# SPDX-License-Identifier: BSD-3-Clause
"""model_changes.py: layers and compiled code of the user's, made quicker.

As in input_changes.py, a change is right as it stands, or not made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from torchtraceap.explain.fixes.rewrite import (
    Rewrite,
    keyword_of,
    replaced,
    with_keywords,
)
from torchtraceap.explain.fixes.user_code import Site, UserCode

_COMPILE = "torch.compile"


def whole_graph(site: Site) -> Rewrite | None:
    """Make a break of the graph an error that says where and why."""
    if added := _compiled(site, "fullgraph", "True"):
        note = "Stops with an error at the first break that says why: mend that one."
        return Rewrite(added.splices, [note])
    return None


def capture(site: Site) -> Rewrite | None:
    """Let compiled code replay as a CUDA graph."""
    if site.finding.subtype == "graphs":
        return None
    if added := _compiled(site, "mode", '"reduce-overhead"'):
        note = (
            "The next call writes over the outputs of this one: .clone() those that "
            "are kept."
        )
        return Rewrite(added.splices, [note])
    return None


def drop_bias(site: Site) -> Rewrite | None:
    """Make a convolution without the bias that the batch norm after it removes."""
    code = site.code
    # What is loaded was trained with it, a norm that is not trained does not remove it,
    # and who reads it would find None.
    loads = ("load_state_dict", "load", "from_pretrained")
    if code.names_any(*loads, "eval", "bias", "named_parameters"):
        return None
    splices = []
    for first, second in _neighbors(site):
        if _is_layer(code, first, "Conv") and _is_layer(code, second, "BatchNorm"):
            if len(first.args) > 7 or keyword_of(first, "bias") is not None:
                continue
            splices += with_keywords(code, first, {"bias": "False"})
    note = (
        "For training anew: a checkpoint that was saved with the bias does not fit, "
        "and random numbers after it are others."
    )
    return Rewrite(splices, [note]) if splices else None


def _compiled(site: Site, option: str, value: str) -> Rewrite | None:
    """Give the torch.compile of a line's function, or of what is called there, an
    option that it has not."""
    code = site.code
    for decorator in getattr(site.where, "decorator_list", ()):
        if code.name(decorator) == _COMPILE:
            text = f"{code.text(decorator)}({option}={value})"
            return Rewrite([replaced(decorator, text)])
    made = [
        *getattr(site.where, "decorator_list", ()),
        *(code.made_by(call.func) for call in site.calls),
    ]
    calls = [
        x for x in made if isinstance(x, ast.Call) and code.name(x.func) == _COMPILE
    ]
    # Other backends have other options.
    if len(calls) != 1 or {option, "options", "backend"} & {
        str(k.arg) for k in calls[0].keywords
    }:
        return None
    splices = with_keywords(code, calls[0], {option: value})
    return Rewrite(splices) if splices else None


def _is_layer(code: UserCode, node: ast.expr, kind: str) -> bool:
    name = code.name(node.func) if isinstance(node, ast.Call) else ""
    return name.startswith(f"torch.nn.{kind}") and name[-2:] in ("1d", "2d", "3d")


def _neighbors(site: Site) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield layers that run one after the other: of the nn.Sequential that is called on
    a line, or called on each other's result there."""
    code = site.code
    for call in site.calls:
        made = code.made_by(call.func)
        if (
            isinstance(made, ast.Call)
            and code.name(made.func) == "torch.nn.Sequential"
            and not _is_taken_apart(code, call.func)
        ):
            for pair in pairwise(made.args):
                if isinstance(pair[0], ast.Call) and isinstance(pair[1], ast.Call):
                    yield pair[0], pair[1]
        for argument in call.args[:1]:
            if isinstance(argument, ast.Call):
                yield from _pair(code, argument.func, call.func)
        statement = code.statement(call)
        block = code.block(statement)
        number = block.index(statement) + 1
        if number < len(block) and isinstance(statement, ast.Assign):
            after = block[number]
            second = after.value if isinstance(after, ast.Assign | ast.Return) else None
            if (
                statement.value is call
                and isinstance(second, ast.Call)
                and len(second.args) == 1
                and code.name(second.args[0]) == code.name(statement.targets[0]) != ""
                and _is_last_use(code, second.args[0], after)
            ):
                yield from _pair(code, call.func, second.func)


def _is_taken_apart(code: UserCode, variable: ast.expr) -> bool:
    """Tell whether layers of an nn.Sequential may also run without the others."""
    return any(
        isinstance(x, ast.Subscript) and code.name(x.value) == code.name(variable)
        for x in ast.walk(code.tree)
    ) or any(
        code.name(code.iterated(x.iter)).startswith(code.name(variable))
        for x in ast.walk(code.tree)
        if isinstance(x, ast.For)
    )


def _is_last_use(code: UserCode, use: ast.expr, statement: ast.stmt) -> bool:
    """Tell whether a variable is used nowhere else, or given a new value there."""
    name = code.name(use)
    if isinstance(statement, ast.Assign) and name in map(code.name, statement.targets):
        return True
    reads = [
        x
        for x in ast.walk(code.function(statement))
        if isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Load)
    ]
    return len(reads) == 1


def _pair(
    code: UserCode, first: ast.expr, second: ast.expr
) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield what makes two layers, if the first is called nowhere else: there its bias
    may be needed."""
    made = code.made_by(first), code.made_by(second)
    once = len(code.all_calls(code.name(first))) == 1
    if once and isinstance(made[0], ast.Call) and isinstance(made[1], ast.Call):
        yield made[0], made[1]
