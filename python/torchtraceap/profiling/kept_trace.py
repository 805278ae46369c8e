# SPDX-License-Identifier: BSD-3-Clause
"""kept_trace.py: Kineto's one JSON of a run, kept so that it can be exported again."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import tempfile
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from torchtraceap import _core
from torchtraceap.base.files import replacing

# The name of the autograd profile's method, which a KeptTrace stands in for.
EXPORT = "export_chrome_trace"
# Kineto ends the file with "traceName" and the path it wrote to.
_TRACE_NAME = b'"traceName"'
_TAIL_BYTES = 1 << 16
_PART = 1 << 20
_NO_ROOM = (
    "torchtraceap could not keep the trace in the folder for temporary files; "
    "is it full? TMPDIR names another"
)


class KeptTrace:
    """Kineto's JSON of one cycle, and the export that hands out copies of it.

    Holds a file without a name, which the system removes when this object goes; it
    goes with the autograd profile it is set on, hence the weak references.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = weakref.ref(inner)
        self._results = weakref.ref(inner.kineto_results)
        self._fd = -1  # Kineto's only export failed: nothing to hand out
        with private_path() as path:
            getattr(type(inner), EXPORT)(inner, path)
            if os.path.exists(path):
                self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                weakref.finalize(self, os.close, self._fd)
        self._head_bytes = self._find_trace_name()
        if self._head_bytes < 0:
            self._fd = -1

    def holds(self, results: object) -> bool:
        return self._results() is results

    def load(self) -> _core.Trace:
        if self._fd < 0:
            raise OSError(_NO_ROOM)
        return _core.load_file(self.path)

    @property
    def path(self) -> str:
        """Where this process can read the file; for a trace that was loaded."""
        return f"/proc/self/fd/{self._fd}"

    def __call__(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Exports in place of the autograd profile's own method."""
        inner = self._inner()
        assert inner is not None  # calls come through it
        export = getattr(type(inner), EXPORT)
        given = inspect.signature(export).bind(inner, path, *args, **kwargs)
        # An autograd profile that accumulates cycles has newer results by now.
        stale = not self.holds(inner.kineto_results)
        if stale or given.arguments.get("use_python_export"):
            return export(inner, path, *args, **kwargs)
        if self._fd < 0:
            if not is_repeatable(export):
                raise RuntimeError(f"Trace is already saved. {_NO_ROOM}")
            given.arguments["use_python_export"] = True
            return export(*given.args, **given.kwargs)
        try:
            where = os.fspath(path)
            with replacing(where) as new, open(new, "wb") as out:
                self._copy_to(out, where)
        except OSError as error:
            # Kineto itself only prints here; a wrong path must not end a training run.
            warnings.warn(f"the trace was not exported: {error}", stacklevel=3)
        return None

    def pack(self, path: str) -> None:
        """Writes the trace to `path` as gzip."""
        if self._fd < 0:
            raise OSError(_NO_ROOM)
        # At the ninth level a trace is a third smaller, for eight times the time.
        name = os.path.basename(path)
        with (
            replacing(path) as new,
            open(new, "wb") as file,
            gzip.GzipFile(name, "wb", 1, file) as out,
        ):
            self._copy_to(out, path)

    def _copy_to(self, out: IO[bytes] | gzip.GzipFile, path: str) -> None:
        """Writes the trace as Kineto would have written it to `path`."""
        for at in range(0, self._head_bytes, _PART):
            size = min(_PART, self._head_bytes - at)
            if len(part := os.pread(self._fd, size, at)) < size:
                raise OSError("the kept trace was cut short")
            out.write(part)
        out.write(_TRACE_NAME + f": {json.dumps(path)}\n}}".encode())

    def _find_trace_name(self) -> int:
        """Returns where the last member begins, -1 if the file is not whole."""
        if self._fd < 0:
            return -1
        size = os.fstat(self._fd).st_size
        start = max(0, size - _TAIL_BYTES)
        tail = os.pread(self._fd, _TAIL_BYTES, start)
        at = tail.rfind(_TRACE_NAME)
        return start + at if at >= 0 and tail.rstrip().endswith(b"}") else -1


def is_repeatable(export: Any) -> bool:
    """Tells whether this torch (2.13 and later) has the Python export."""
    return "use_python_export" in inspect.signature(export).parameters


@contextmanager
def private_path() -> Iterator[str]:
    """Yields a path in a folder of our own, which is removed at once afterwards."""
    made = tempfile.TemporaryDirectory(
        prefix="torchtraceap-", ignore_cleanup_errors=True
    )
    with made as folder:
        yield os.path.join(folder, "trace.json")
