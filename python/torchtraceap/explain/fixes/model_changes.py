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
    above,
    keyword_of,
    replaced,
    with_keywords,
)
from torchtraceap.explain.fixes.user_code import FUNCTIONS, Site, UserCode, constant

_COMPILE = "torch.compile"
#: What a function that is compiled as a whole must not hold.
_UNFIT = (ast.For, ast.While, ast.Try, ast.With, ast.Yield, ast.YieldFrom, ast.Await)


def whole_graph(site: Site) -> Rewrite | None:
    """Make a break of the graph an error that says where and why."""
    code = site.code
    if added := _compiled(code, "fullgraph", "True"):
        note = "Stops with an error at the first break that says why: mend that one."
        return Rewrite(added.splices, [note])
    return None


def capture(site: Site) -> Rewrite | None:
    """Let compiled code replay as a CUDA graph."""
    code = site.code
    if site.finding.subtype == "graphs":
        return None
    if added := _compiled(code, "mode", '"reduce-overhead"'):
        note = (
            "The next call writes over the outputs of this one: .clone() those that "
            "are kept."
        )
        return Rewrite(added.splices, [note])
    return None


def compile_function(site: Site) -> Rewrite | None:
    """Compile a short function of tensors, so that its operators are fused."""
    code = site.code
    function = site.where
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    nodes = list(ast.walk(function))
    unfit = {
        *("item", "backward", "step", "print", "tolist", "numpy", "cpu", "append"),
        *("rand", "randn", "randint", "rand_like", "randn_like", "dropout"),
        *("bernoulli", "multinomial"),
    }
    if (
        code.imported("torch") != "torch"
        or code.names_any("jit", "export")  # They take no compiled code.
        or function.name.startswith("__")
        or any(isinstance(node, _UNFIT) for node in nodes)
        or any(isinstance(node, FUNCTIONS) for node in nodes[1:])
        or any(
            (node.func.attr if isinstance(node.func, ast.Attribute) else "") in unfit
            or code.name(node.func).rpartition(".")[2] in unfit
            for node in nodes
            if isinstance(node, ast.Call)
        )
    ):
        return None
    note = "Fused operators round less often: last digits differ."
    decorator = above(function, "@torch.compile", code)
    return Rewrite([decorator], [note], [function])


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
            if len(first.args) > 7 or constant(keyword_of(first, "bias")) is False:
                continue
            splices += with_keywords(code, first, {"bias": "False"})
    note = (
        "For training anew: a checkpoint that was saved with the bias does not fit, "
        "and random numbers after it are others."
    )
    return Rewrite(splices, [note]) if splices else None


def _compiled(code: UserCode, option: str, value: str) -> Rewrite | None:
    """Give the file's only torch.compile an option that it has not."""
    calls = code.all_calls(_COMPILE)
    decorators = [
        d
        for node in ast.walk(code.tree)
        for d in getattr(node, "decorator_list", ())
        if code.name(d) == _COMPILE
    ]
    if len(calls) + len(decorators) != 1:
        return None
    if decorators:
        text = f"{code.text(decorators[0])}({option}={value})"
        return Rewrite([replaced(decorators[0], text)])
    if {option, "options"} & {str(k.arg) for k in calls[0].keywords}:
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
        if isinstance(made, ast.Call) and code.name(made.func) == "torch.nn.Sequential":
            calls = [arg for arg in made.args if isinstance(arg, ast.Call)]
            yield from pairwise(calls)
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
            ):
                yield from _pair(code, call.func, second.func)


def _pair(
    code: UserCode, first: ast.expr, second: ast.expr
) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield what makes two layers, if the first is called nowhere else: there its bias
    may be needed."""
    made = code.made_by(first), code.made_by(second)
    once = len(code.all_calls(code.name(first))) == 1
    if once and isinstance(made[0], ast.Call) and isinstance(made[1], ast.Call):
        yield made[0], made[1]
