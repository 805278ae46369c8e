# SPDX-License-Identifier: BSD-3-Clause
"""step_changes.py: what a training step does beside its model, made quicker.

As in input_changes.py, a change is right as it stands, or not made.
"""

from __future__ import annotations

import ast

from torchtraceap.explain.fixes.rewrite import (
    Rewrite,
    keyword_of,
    replaced,
    with_keywords,
    without,
)
from torchtraceap.explain.fixes.user_code import Site, constant

# What has these forms, of torch's optimizers; "fused" is the quicker one.
_FUSED = {"Adam", "AdamW", "SGD"}
_FOREACH = {
    *("Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
}
_CLOCKS = {"time.time", "time.perf_counter", "time.monotonic", "time.perf_counter_ns"}


def drop_waits(site: Site) -> Rewrite | None:
    """Take out torch.cuda.synchronize() where it is a statement."""
    code = site.code
    rewrite = _drop(site, "torch.cuda.synchronize", "torch.accelerator.synchronize")
    if rewrite and any(code.name(c.func) in _CLOCKS for c in code.calls(site.where)):
        rewrite.notes.append(
            "Clocks read here then measure launches, not the work: use "
            "torch.cuda.Event(enable_timing=True), read after the loop."
        )
    if rewrite and any(b"non_blocking" in line for line in code.lines):
        rewrite.notes.append(
            "Keep it where the host reads what a non_blocking copy brings."
        )
    return rewrite


def keep_cache(site: Site) -> Rewrite | None:
    """Take out torch.cuda.empty_cache() where it is a statement."""
    return _drop(site, "torch.cuda.empty_cache", "torch.accelerator.empty_cache")


def collect_less(site: Site) -> Rewrite | None:
    """Take out gc.collect() where it is a statement."""
    return _drop(site, "gc.collect")


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
    call = steps[0] if steps else built[0] if len(built) == 1 else None
    if not isinstance(call, ast.Call):
        return None
    name = names[code.name(call.func)]
    on_cpu = "for a CPU" in site.finding.advice
    if on_cpu and name not in {*_FUSED, "Adagrad"}:
        return None  # There foreach calls as many operators.
    fused = name in _FUSED or on_cpu
    form, other = ("fused", "foreach") if fused else ("foreach", "fused")
    if any(k.arg == "differentiable" for k in call.keywords):
        return None
    old = next((k for k in call.keywords if k.arg == other), None)
    if old is None:
        splices = with_keywords(code, call, {form: "True"})
    elif keyword_of(call, form) is None and constant(old.value) is False:
        end = replaced(old.value, "").end
        first = replaced(old.value, f"{form}=True")
        splices = [first._replace(begin=first.begin._replace(column=old.col_offset))]
        if old.lineno != old.value.lineno or end.line != old.lineno:
            return None
    else:
        return None
    return Rewrite(splices, ["Sums are rounded in another order: last digits differ."])


def drop_gradients(site: Site) -> Rewrite | None:
    """Let zero_grad drop gradients instead of filling them."""
    code = site.code
    calls = site.methods("zero_grad")
    if len(calls) != 1:
        return None
    ((call, _),) = calls
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if len(given) > 1 or any(constant(value) is not False for value in given):
        return None
    # Before torch 2.0 it had to be said, and nothing else fills without a word.
    argument = "" if given else "set_to_none=True"
    text = f"{code.text(call.func)}({argument})"
    note = (
        "Until the next backward pass gradients are None: who reads p.grad must look."
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
    return Rewrite([without(statement, code)], [], [*code.loops(statement)[:1]])
