# SPDX-License-Identifier: BSD-3-Clause
"""waits_trace.py: a simulated trace that lists the waits of a dry run."""

from __future__ import annotations

from typing import Any

from torchtraceap import _core

WAIT = {
    "file": "/home/me/train.py",
    "line": 12,
    "function": "step",
    "api": "aten::_local_scalar_dense",
    "subtype": "scalar_read",
    "steps": [[0, 3, 1]],
    "value": "guessed",
    "why": ".item(): one value is read back",
    "advice": "keep the value on the device",
}
SETUP = {
    **WAIT,
    "line": 3,
    "api": "Tensor.cuda",
    "subtype": "blocking_copy",
    "steps": [[0, 0, 9]],
}


def program(
    steps: int = 4,
    host_us: int = 1,
    kernel_us: int = 500,
    read: str = "",
    read_us: int = 0,
) -> _core.Program:
    """Return steps of two kernels.

    Args:
        steps: How many.
        host_us: What the host needs for each kernel.
        kernel_us: How long each runs.
        read: An operator that then reads a value back; "": there is none.
        read_us: What the host needs after that.
    """
    p = _core.Program()
    p.add_device(0, "H100 SXM", 80 << 30, 132, 9, 0)
    thread, stream = p.add_thread(1, "python"), p.add_stream(7)
    for step in range(steps):
        p.open_span(thread, f"ProfilerStep#{step}")
        for name in ("aten::mm", "aten::mul"):
            p.open(thread, name, '"Call stack": "/home/me/train.py(11): step"')
            p.host(thread, host_us * 1000)
            p.kernel(thread, stream, name, kernel_us * 1000, 4_000)
            p.close(thread)
        if read:
            p.open(thread, read, '"Call stack": "/home/me/train.py(12): step"')
            name = "Memcpy DtoH (Device -> Pageable)"
            p.copy(thread, stream, name, 1_000, 4_000, 4)
            p.stream_sync(thread, stream)
            if read_us:
                p.host(thread, read_us * 1000)
            p.close(thread)
        p.close(thread)
    return p


def trace(waits: Any, read_us: int = 0, steps: int = 4) -> bytes:
    """Return such a trace; the device never waits for what reads back, if anything."""
    note: dict[str, Any] = {"gpu": "H100 SXM", "host_us_per_op": 10.0}
    if waits is not None:
        note["waits"] = waits
    read = str(WAIT["api"]) if read_us else ""
    return program(steps, read=read, read_us=read_us).trace_text({"dry_run": note})
