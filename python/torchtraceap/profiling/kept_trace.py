# SPDX-License-Identifier: BSD-3-Clause
"""kept_trace.py: Kineto's one JSON of a run, kept so that it can be exported again.

A loop that ends with step() leaves a step of some 100 µs in which nothing is done. It
is none of the loop's steps, and would falsify what is said of them.
"""

from __future__ import annotations

import gzip
import inspect
import json
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchtraceap import _core
from torchtraceap.base.files import replacing

_STEP = "ProfilerStep#"
_LATER = b'"torchtraceap: after the last step"'
_CALLS = ("cuda_runtime", "cuda_driver")


def name_if_idle(prof: Any, trace: _core.Trace) -> bytes | None:
    """Returns the open step of `trace`, which `prof` recorded, as it stands in JSON.

    None if there is none, if an operator or a launch is in it (loops may begin with
    step()), or if it is the only one. A loader that has no more batches is none.
    """
    name = f"{_STEP}{getattr(prof, 'step_num', None)}"
    steps = [text for text in trace.strings if text.startswith(_STEP)]
    if name not in steps or len(steps) < 2 or _has_work(trace, name):
        return None
    return f'"{name}"'.encode()


def without(name: bytes, text: bytes) -> bytes:
    """Returns Kineto's JSON with the step `name` as an annotation that is no step."""
    return text.replace(name, _LATER)


def _has_work(trace: _core.Trace, name: str) -> bool:
    columns, number = trace.columns, _core.category_number
    starts, names, category = columns["ts"], columns["name"], columns["category"]
    is_step = (names == trace.strings.index(name)) & (
        category == number("user_annotation")
    )
    if not is_step.any():
        return True
    begin = starts[is_step].min()
    end = (starts + columns["dur"])[is_step].max()
    inside = (starts >= begin) & (starts < end)
    launches = [i for i, text in enumerate(trace.strings) if "Launch" in text]
    if (inside & (category == number("cpu_op"))).any():
        return True
    for kind in _CALLS:
        called = names[inside & (category == number(kind))]
        if not set(called.tolist()).isdisjoint(launches):
            return True
    return False


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
            self._copy_to(os.fspath(path))
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
            at = 0
            while at < self._head_bytes:
                part = os.pread(self._fd, min(_PART, self._head_bytes - at), at)
                if not part:
                    raise OSError("the kept trace was cut short")
                out.write(part)
                at += len(part)
            out.write(_end(path))

    def _copy_to(self, path: str) -> None:
        with replacing(path) as new, open(new, "wb") as out:
            sent = 0
            while sent < self._head_bytes:
                sent += os.sendfile(
                    out.fileno(), self._fd, sent, self._head_bytes - sent
                )
            out.seek(0, os.SEEK_END)
            out.write(_end(path))

    def _find_trace_name(self) -> int:
        """Returns where the last member begins, -1 if the file is not whole."""
        if self._fd < 0:
            return -1
        size = os.fstat(self._fd).st_size
        start = max(0, size - _TAIL_BYTES)
        tail = os.pread(self._fd, _TAIL_BYTES, start)
        at = tail.rfind(_TRACE_NAME)
        return start + at if at >= 0 and tail.rstrip().endswith(b"}") else -1


def _end(path: str) -> bytes:
    return _TRACE_NAME + f": {json.dumps(path)}\n}}".encode()


def is_repeatable(export: Any) -> bool:
    """Tells whether this torch (2.13 and later) has the Python export."""
    return "use_python_export" in inspect.signature(export).parameters


@contextmanager
def private_path() -> Iterator[str]:
    """Yields a path in a folder of our own, which is removed at once afterwards."""
    folder = tempfile.mkdtemp(prefix="torchtraceap-")
    try:
        yield os.path.join(folder, "trace.json")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
