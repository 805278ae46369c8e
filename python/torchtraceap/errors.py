# SPDX-License-Identifier: BSD-3-Clause
"""errors.py: the exception for bytes that are no usable profiler trace.

The core raises it (cpp/bindings/bind_trace.cpp). It is written in Python so that its
fields have types and it survives pickling, as between the workers of a pool.
"""

from __future__ import annotations


class TraceError(ValueError):
    """A file or bytes that cannot be read as a profiler trace.

    ``str()`` is the whole message: what is wrong, where, and what to do.

    Attributes:
        path: The file as it was given, ``<bytes>`` for a trace from memory.
        kind: A stable word for the fault, such as ``truncated``.
        hint: What to do, one sentence.
        offset: Byte in the uncompressed text, or None.
        line: Line of that byte, from 1, or None.
        event: Index in ``traceEvents``, or None.
    """

    def __init__(
        self,
        message: str,
        path: str = "",
        kind: str = "",
        hint: str = "",
        offset: int | None = None,
        event: int | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.kind = kind
        self.hint = hint
        self.offset = offset
        self.event = event
        self.line = line


# Shown in tracebacks under the name that users import.
TraceError.__module__ = "torchtraceap"
