# SPDX-License-Identifier: BSD-3-Clause
"""call_lines.py: the line of a call, from the event tree of a live profiler.

A saved trace names functions only by the line where they begin. The profiler's own
tree, which exists until the next cycle, also knows the line each call was made from,
if it recorded stacks. It does not know the line of what is no call (`if t:`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchtraceap.source_lines import Line, is_user_file, resolve


def line_at(roots: Iterable[Any], time_ns: int, operator: str) -> Line | None:
    """Returns the user's line that was running an operator at a moment.

    `roots` is ``kineto_results.experimental_event_tree()``, `time_ns` on its clock.
    Where several threads were at work, the one that ran `operator` counts.
    """
    best: list[Any] = []
    for root in roots:
        chain = _chain_at(root, time_ns)
        if chain and (not best or any(_name(node) == operator for node in chain)):
            best = chain
    return _user_line(best)


def _chain_at(node: Any, time_ns: int) -> list[Any]:
    chain: list[Any] = []
    nodes = [node]
    while nodes:
        inside = [n for n in nodes if n.start_time_ns <= time_ns <= n.end_time_ns]
        if not inside:
            break
        # Where one ends as the next begins, the later one is meant.
        chain.append(inside[-1])
        nodes = inside[-1].children
    return chain


def _user_line(chain: list[Any]) -> Line | None:
    for node in reversed(chain):
        fields = node.extra_fields
        if not hasattr(fields, "caller"):
            continue  # an operator, not a Python frame
        try:
            # A Python function (as opposed to one in C) is itself running some line
            # that is not known; the line it was called from is.
            begin = getattr(fields, "callsite", None)
            if begin is not None and is_user_file(begin.file_name):
                return _line(begin, exact=False)
            if is_user_file(fields.caller.file_name):
                return _line(fields.caller, exact=True)
        except UnicodeDecodeError:
            continue  # frames of imports hold damaged names
    return None


def _line(frame: Any, exact: bool) -> Line:
    return Line(resolve(frame.file_name), frame.line_number, frame.function_name, exact)


def _name(node: Any) -> str:
    try:
        return str(node.name)
    except UnicodeDecodeError:
        return ""
