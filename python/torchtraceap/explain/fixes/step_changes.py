# SPDX-License-Identifier: BSD-3-Clause
"""step_changes.py: what a training step does beside its input, made quicker.

As in input_changes.py, a change is right as it stands, or not made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from torchtraceap.explain.fixes.rewrite import (
    Rewrite,
    keyword_of,
    replaced,
    with_keywords,
    without,
)
from torchtraceap.explain.fixes.user_code import (
    LOADERS,
    Site,
    UserCode,
    constant,
    root,
)

_COMPILE = "torch.compile"
# What has these forms, of torch's optimizers; "fused" is the quicker one.
_FUSED = {"Adam", "AdamW", "SGD"}
_FOREACH = {
    *("Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
}
# What makes complex numbers, which fused optimizers do not take.
_COMPLEX = {
    *("complex", "complex32", "complex64", "complex128", "cfloat", "cdouble", "fft"),
}
# What runs beside the current stream, tells times, or hands memory to others: there a
# wait decides what is read. Parts of full names.
_ORDERED = {
    *("Stream", "ExternalStream", "stream", "wait_stream"),
    *("Event", "elapsed_time", "CUDAGraph", "graph", "make_graphed_callables"),
    *("data_ptr", "from_dlpack", "to_dlpack", "share_memory_", "cupy", "numba"),
    *("ctypes", "timeit", "perf_counter", "perf_counter_ns", "monotonic", "now"),
    *("monotonic_ns", "process_time", "time_ns", "pin_memory", "async_op", "isend"),
    *("irecv", "load_inline", "CDLL"),
}


def drop_waits(site: Site) -> Rewrite | None:
    """Take out torch.cuda.synchronize() where it is a statement, and nothing in the
    file may rely on it."""
    if site.finding.subtype != "explicit" or _may_rely_on_waits(site.code):
        return None
    return _drop(site, "torch.cuda.synchronize", "torch.accelerator.synchronize")


def keep_cache(site: Site) -> Rewrite | None:
    """Take out torch.cuda.empty_cache() where it is a statement."""
    note = "The memory stays this process's: keep it where another one needs it."
    rewrite = _drop(site, "torch.cuda.empty_cache", "torch.accelerator.empty_cache")
    return replace(rewrite, notes=[note]) if rewrite else None


def collect_less(site: Site) -> Rewrite | None:
    """Take out gc.collect() where it is a statement, unless the program has a say in
    when Python collects by itself."""
    if any(b"__del__" in line for line in site.code.lines):
        return None
    if site.code.names_any("disable", "freeze", "set_threshold", "weakref", "garbage"):
        return None
    note = (
        "Python collects by itself, if later: memory in reference cycles stays longer."
    )
    rewrite = _drop(site, "gc.collect")
    return replace(rewrite, notes=[note]) if rewrite else None


def fuse_optimizer(site: Site) -> Rewrite | None:
    """Build the optimizer in its fused or multi-tensor form."""
    code = site.code
    if site.finding.subtype == "many_kernels":
        return None  # A class of their own.
    names = {f"torch.optim.{name}": name for name in _FUSED | _FOREACH}
    built = code.all_calls(*names)
    steps = [
        made
        for call, owner in site.methods("step")
        for variable in (owner, *call.args[:1])  # Of a scaler's step.
        if (made := code.made_by(variable)) in built
    ]
    if len(steps) != 1 or not isinstance(call := steps[0], ast.Call):
        return None
    name = names[code.name(call.func)]
    on_cpu = "for a CPU" in site.finding.advice
    if on_cpu and name not in {*_FUSED, "Adagrad"}:
        return None  # There foreach calls as many operators.
    fused = name in _FUSED or on_cpu
    form, other = ("fused", "foreach") if fused else ("foreach", "fused")
    keywords = [k.arg for k in ast.walk(code.tree) if isinstance(k, ast.keyword)]
    if (
        "sparse" in keywords
        or "differentiable" in keywords
        or code.names_any(*_COMPLEX)
    ):
        return None
    old = keyword_of(call, other)
    if old is not None and constant(old) is not False:
        return None
    splices = with_keywords(code, call, {form: "True"})
    return Rewrite(splices, ["Sums are rounded in another order: last digits differ."])


def drop_gradients(site: Site) -> Rewrite | None:
    """Let zero_grad drop gradients instead of filling them."""
    code = site.code
    calls = site.methods("zero_grad")
    # Who reads gradients may find None; a CUDA graph writes to those that were there.
    if len(calls) != 1 or code.names_any(
        "grad", "CUDAGraph", "graph", "make_graphed_callables"
    ):
        return None
    ((call, owner),) = calls
    made = code.made_by(owner)
    if not isinstance(made, ast.Call):
        return None
    if not code.name(made.func).startswith("torch.optim."):
        return None  # Another class may mean something else by it.
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if len(given) > 1 or any(constant(value) is not False for value in given):
        return None
    # Before torch 2.0 it had to be given, and nothing else fills by default.
    argument = "" if given else "set_to_none=True"
    text = f"{code.text(call.func)}({argument})"
    note = (
        "A parameter that the next backward pass does not reach then has no gradient "
        "and is not stepped: with zeros it still decays, and its momentum goes on."
    )
    return Rewrite([replaced(call, text)], [note])


def _drop(site: Site, *names: str) -> Rewrite | None:
    code = site.code
    found = [call for call in site.calls if code.name(call.func) in names]
    if len(found) != 1:
        return None
    statement = code.statement(found[0])
    if not isinstance(statement, ast.Expr) or statement.value is not found[0]:
        return None
    # What is tried may be there for its errors, and a handler for what went wrong.
    if any(isinstance(x, ast.Try | ast.ExceptHandler) for x in code.above(statement)):
        return None
    return Rewrite([without(statement, code)])


def _may_rely_on_waits(code: UserCode) -> bool:
    """Tell whether a result of a file may change if it waits less: by copies that the
    host does not wait for, other streams, pinned buffers, and clocks."""
    if code.names_any(*_ORDERED):
        return True
    for node in ast.walk(code.tree):
        if code.name(node) == "time.time":
            return True
        if isinstance(node, ast.Call):
            names = {keyword.arg for keyword in node.keywords}
            if "non_blocking" in names and not _is_of_a_batch(code, node):
                return True
            if "pin_memory" in names and code.name(node.func) not in LOADERS:
                return True
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            # What else says non_blocking: by position, or in what is passed on.
            if method == "copy_" and (len(node.args) > 1 or None in names):
                return True
            if method in ("to", "cuda", "cpu") and (
                len(node.args) > 1 or None in names
            ):
                return True
    return False


def _is_of_a_batch(code: UserCode, call: ast.Call) -> bool:
    """Tell whether a method is called on what a loop goes over, which is new each time,
    and no copy into a buffer that is there."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    device = call.args[0] if call.args else None
    name = code.name(device).lower() if device else ""
    back = isinstance(device, ast.Constant) and device.value == "cpu"
    if method not in ("to", "cuda") or back or "cpu" in name or "host" in name:
        return False
    variable = root(call.func)
    targets = [
        x.id
        for loop in code.loops(call)
        if not isinstance(loop, ast.While)
        for x in ast.walk(loop.target)
        if isinstance(x, ast.Name)
    ]
    return variable in targets


# --- Layers and compiled code --------------------------------------------------------


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
        "When retraining: a checkpoint that was saved with the bias does not fit, "
        "and random numbers after it differ."
    )
    return Rewrite(splices, [note]) if splices else None


def _compiled(site: Site, option: str, value: str) -> Rewrite | None:
    """Give the torch.compile of a line's function, or of what is called there, an
    option that it does not have."""
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
