# SPDX-License-Identifier: BSD-3-Clause
"""changes.py: the fix of a finding as code: the user's own where it is available and of
a form that is known, else the example of the pattern's page."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchtraceap._core import Finding, Location
from torchtraceap.explain.explanation import CodeChange
from torchtraceap.explain.fixes.input_changes import (
    add_workers,
    is_to_device,
    make_on_device,
    may_copy_batches,
    pin_batches,
)
from torchtraceap.explain.fixes.rewrite import Rewrite, change_by
from torchtraceap.explain.fixes.step_changes import (
    capture,
    collect_less,
    drop_gradients,
    drop_waits,
    fuse_optimizer,
    keep_cache,
)
from torchtraceap.explain.fixes.user_code import (
    FUNCTIONS,
    Site,
    UserCode,
    read_user_code,
)
from torchtraceap.explain.pattern_pages import pattern_page

#: By pattern, what may be done to the user's code: the first that fits is.
_ADAPTED: dict[str, tuple[Callable[[Site], Rewrite | None], ...]] = {
    "dataloader_bound": (add_workers,),
    "gc_pause": (collect_less,),
    "allocator_churn": (keep_cache,),
    "cpu_init_then_copy": (make_on_device,),
    "pageable_copy": (pin_batches,),
    "frequent_memcpy": (make_on_device,),
    "sync_stall": (drop_waits, pin_batches, make_on_device),
    "unfused_optimizer": (fuse_optimizer,),
    "zero_grad_fill": (drop_gradients,),
    "missed_cuda_graph": (capture,),
    "launch_bound": (capture,),
    "slow_copy": (pin_batches,),
}


def change_of(finding: Finding) -> CodeChange | None:
    """Return the fix as code before and after; None if none would be right.

    The user's file is read if it lies in a project of theirs, and parsed, not run."""
    page = pattern_page(finding.pattern, finding.subtype or "", finding.advice)
    site = _site_of(finding)
    for adapt in _ADAPTED.get(finding.pattern, ()) if site else ():
        if (
            site
            and (rewrite := adapt(site))
            and (made := change_by(rewrite, site.code))
        ):
            return made
    if site and finding.subtype == "blocking_copy" and is_to_device(site):
        # The usual example is of the other way.
        page = pattern_page("pageable_copy") if may_copy_batches(site) else None
    return page.example if page else None


def _site_of(finding: Finding) -> Site | None:
    where = finding.location
    if where is None or not where.user:
        return None  # Code of libraries is not changed.
    code = read_user_code(where.file)
    function = _function(code, where) if code else None
    return Site(code, finding, function, where.line) if code and function else None


def _function(code: UserCode, where: Location) -> ast.AST | None:
    """Return the function of a place, or the module; None where the file was edited, so
    that another one is there."""
    if where.function == "<module>":
        return code.tree
    line = where.nearest_line
    around = [
        node
        for node in ast.walk(code.tree)
        if isinstance(node, FUNCTIONS)
        and node.name == where.function
        and line is not None
        and _first(node) <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=_first, default=None)


def _first(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])
