# SPDX-License-Identifier: BSD-3-Clause
"""step_changes.py: what a training step does beside its input, made quicker.

As in input_changes.py, a change is right as it stands, or not made.
"""

from __future__ import annotations

import ast
from dataclasses import replace

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


def capture(site: Site) -> Rewrite | None:
    """Let compiled code, that of a line's function or of what is called there, replay
    as a CUDA graph."""
    if site.finding.subtype == "graphs":
        return None
    code, mode = site.code, 'mode="reduce-overhead"'
    note = (
        "The next call writes over the outputs of this one: .clone() those that are "
        "kept."
    )
    decorators = getattr(site.where, "decorator_list", ())
    for decorator in decorators:
        if code.name(decorator) == _COMPILE:
            text = f"{code.text(decorator)}({mode})"
            return Rewrite([replaced(decorator, text)], [note])
    made = [*decorators, *(code.made_by(call.func) for call in site.calls)]
    calls = [
        x for x in made if isinstance(x, ast.Call) and code.name(x.func) == _COMPILE
    ]
    # Other backends have other options.
    if len(calls) != 1 or {"mode", "options", "backend"} & {
        str(k.arg) for k in calls[0].keywords
    }:
        return None
    splices = with_keywords(code, calls[0], {"mode": '"reduce-overhead"'})
    return Rewrite(splices, [note]) if splices else None
