# SPDX-License-Identifier: BSD-3-Clause
"""waits.py: whether a file may rely on a wait for the device, besides for its speed."""

from __future__ import annotations

import ast

from torchtraceap.explain.fixes.user_code import LOADERS, UserCode, root

#: What runs beside the current stream, tells times, or hands memory to others: there a
#: wait decides what is read. Parts of full names.
_ORDERED = {
    *("Stream", "ExternalStream", "stream", "wait_stream"),
    *("Event", "elapsed_time", "CUDAGraph", "graph", "make_graphed_callables"),
    *("data_ptr", "from_dlpack", "to_dlpack", "share_memory_", "cupy", "numba"),
    *("ctypes", "timeit", "perf_counter", "perf_counter_ns", "monotonic", "now"),
    *("monotonic_ns", "process_time", "time_ns", "pin_memory", "async_op", "isend"),
    *("irecv", "load_inline", "CDLL"),
}


def may_rely_on_waits(code: UserCode) -> bool:
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
