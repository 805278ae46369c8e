# SPDX-License-Identifier: BSD-3-Clause
"""reading.py: reads a trace from whatever a caller passes, as planned."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping

from torchtraceap import _core
from torchtraceap.arguments import of_type
from torchtraceap.errors import TraceError
from torchtraceap.load_options import LoadPlan, Progress
from torchtraceap.progress import reporting

Readable = str | os.PathLike[str] | bytes | bytearray | memoryview


def read_trace(source: Readable, plan: LoadPlan) -> _core.Trace:
    """Load a trace. Raises TypeError for other sources, and what the core raises."""
    read, title = _reader(source)
    with reporting(plan.progress, title) as report:
        if plan.steps is None:
            trace = read(plan.core_options(progress=report))
        else:
            # Twice, so that the whole is never in memory: not its Python frames.
            stamp = _stamp(source)
            first = plan.core_options(
                categories=_core.step_categories(), progress=_part(report, 0)
            )
            begin_ns, end_ns = _core.step_range(read(first), *plan.steps)
            second = plan.core_options(
                begin_ns=begin_ns, end_ns=end_ns, progress=_part(report, 1)
            )
            trace = read(second)
            if _stamp(source) != stamp:
                path = os.fsdecode(source)  # type: ignore[arg-type]
                hint = "Load it again when it is whole."
                message = f"{path}: the file was changed while it was read. {hint}"
                raise TraceError(message, path, "changed", hint)
        if report is not None:
            report(1.0, trace.text_bytes, len(trace) + trace.left_out)
        return trace


def wanted_source(what: str, source: object) -> str:
    """Return the message for a source that is none of ``what``."""
    text = f"source must be {what}, but is {of_type(source)}"
    return text + (f": {hint}" if (hint := instead(source)) else "")


def instead(source: object) -> str:
    """Return what to pass instead of an iterable that is no list of sources."""
    if isinstance(source, Mapping):
        return "of a trace that is loaded already, pass json.dumps(trace).encode()"
    if hasattr(source, "read"):
        return "of an open file, pass its path, or the bytes that it holds"
    return ""


def _reader(source: Readable) -> tuple[Callable[[_core.LoadOptions], _core.Trace], str]:
    """Return what reads the source, any number of times, and what to call it."""
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        title = os.path.basename(path)
        try:
            path.encode()
        except UnicodeEncodeError:  # A name of bytes that are no UTF-8.
            with open(path, "rb") as file:
                data = file.read()
        else:
            return lambda options: _core.load_file(path, options), title
    elif isinstance(source, bytes | bytearray | memoryview):
        data, title = bytes(source), "trace"
    else:
        raise TypeError(wanted_source("a path or bytes", source))
    return lambda options: _core.load_bytes(data, options), title


def _stamp(source: Readable) -> tuple[int, ...]:
    """Return what tells one state of a file from the next; nothing of bytes."""
    if not isinstance(source, str | os.PathLike):
        return ()
    with contextlib.suppress(OSError):  # The core says best what is wrong.
        found = os.stat(source)
        return (found.st_ino, found.st_size, found.st_mtime_ns)
    return ()


def _part(report: Progress | None, number: int) -> Progress | None:
    """Return what reports the first (0) or second half (1) of two passes."""
    if report is None:
        return None
    return lambda fraction, text_bytes, events: report(
        (number + fraction) / 2, text_bytes, events
    )
