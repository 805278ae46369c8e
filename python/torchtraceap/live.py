# SPDX-License-Identifier: BSD-3-Clause
"""live.py: reads a finished profiler run and leaves its owner's exports working.

Kineto writes the JSON of a run once; a second export raises "Trace is already saved".
Here that one file is written into an unlinked temporary file, analysed, and copied
out again whenever the owner exports. So the analysis reads exactly what the owner's
file holds, on every version of torch, and exports may come in any number and order.
docs/live.md tells what else was tried and why it is not equal.
"""

from __future__ import annotations

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

# The name of the autograd profile's method, which a KeptTrace stands in for.
_EXPORT = "export_chrome_trace"
# Kineto ends the file with "traceName" and the path it wrote to.
_TRACE_NAME = b'"traceName"'
_TAIL_BYTES = 1 << 16
_NO_ROOM = (
    "torchtraceap could not keep the trace in the folder for temporary files; "
    "is it full? TMPDIR names another"
)


def load(prof: Any) -> _core.Trace:
    """Loads the cycle that `prof`, which has stopped recording, recorded last.

    `prof` is a torch.profiler.profile or a torch.autograd.profiler.profile. The trace
    can fetch args until the next cycle begins or `prof` goes, as the text is not held
    any longer than that.

    Raises ValueError if nothing was recorded, RuntimeError if the trace was exported
    before and this torch cannot export it again, OSError if there is no room for it,
    and whatever loading raises.
    """
    inner = inner_profile(prof)
    if inner is None or getattr(inner, "kineto_results", None) is None:
        raise ValueError(
            "the profiler has not recorded anything yet: use torchtraceap.analyze as "
            "its on_trace_ready handler, or call it after the `with` block"
        )
    if inner.kineto_results.trace_start_ns() == 0:
        # Exporting this would crash the process (seen with torch 2.13).
        raise ValueError(
            "the profiler was ended by another one that started inside it, so its "
            "trace is lost: torch can run only one profiler at a time"
        )
    kept = _kept(inner)
    if kept is None:
        return _core.load_bytes(_python_export(prof, inner))
    if getattr(prof, "_use_cupti_monitor", False):
        # This back end merges its device events into each file as it is exported.
        with _private_path() as path:
            prof.export_chrome_trace(path)
            return _core.load_bytes(_read(path))
    return kept.load()


def inner_profile(prof: Any) -> Any:
    """Returns the torch.autograd profile that holds the results of a profiler."""
    return prof if hasattr(prof, "kineto_results") else prof.profiler


class KeptTrace:
    """Kineto's JSON of one cycle, and the export that hands out copies of it.

    Holds a file without a name, which the system removes when this object goes; it
    goes with the autograd profile it is set on, hence the weak references.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = weakref.ref(inner)
        self._results = weakref.ref(inner.kineto_results)
        self._fd = -1  # Kineto's only export failed: nothing to hand out
        with _private_path() as path:
            getattr(type(inner), _EXPORT)(inner, path)
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
        return _core.load_file(f"/proc/self/fd/{self._fd}")

    def __call__(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Exports in place of the autograd profile's own method."""
        inner = self._inner()
        export = getattr(type(inner), _EXPORT)
        given = inspect.signature(export).bind(inner, path, *args, **kwargs)
        # An autograd profile that accumulates cycles has newer results by now.
        stale = inner is None or not self.holds(inner.kineto_results)
        if stale or given.arguments.get("use_python_export"):
            return export(inner, path, *args, **kwargs)
        if self._fd < 0:
            if not _repeatable(export):
                raise RuntimeError(f"Trace is already saved. {_NO_ROOM}")
            given.arguments["use_python_export"] = True
            return export(*given.args, **given.kwargs)
        try:
            self._copy_to(os.fspath(path))
        except OSError as error:
            # Kineto itself only prints here; a wrong path must not end a training run.
            warnings.warn(f"the trace was not exported: {error}", stacklevel=3)
        return None

    def _copy_to(self, path: str) -> None:
        with open(path + ".tmp", "wb") as out:
            sent = 0
            while sent < self._head_bytes:
                sent += os.sendfile(
                    out.fileno(), self._fd, sent, self._head_bytes - sent
                )
            out.seek(0, os.SEEK_END)
            out.write(_TRACE_NAME + f": {json.dumps(path)}\n}}".encode())
        os.replace(path + ".tmp", path)

    def _find_trace_name(self) -> int:
        """Returns where the last member begins, -1 if the file is not whole."""
        if self._fd < 0:
            return -1
        size = os.fstat(self._fd).st_size
        start = max(0, size - _TAIL_BYTES)
        tail = os.pread(self._fd, _TAIL_BYTES, start)
        at = tail.rfind(_TRACE_NAME)
        return start + at if at >= 0 and tail.rstrip().endswith(b"}") else -1


def _kept(inner: Any) -> KeptTrace | None:
    """Returns the kept trace of the current results, made now if need be.

    None if somebody exported these results before.
    """
    kept = vars(inner).get(_EXPORT)
    if not isinstance(kept, KeptTrace) or not kept.holds(inner.kineto_results):
        try:
            kept = KeptTrace(inner)
        except RuntimeError as error:
            if "already saved" not in str(error):
                raise
            return None
        setattr(inner, _EXPORT, kept)
    return kept


def _python_export(prof: Any, inner: Any) -> bytes:
    """Reads a trace that was exported before through torch's repeatable export."""
    export = getattr(type(inner), _EXPORT)
    if not _repeatable(export):
        raise RuntimeError(
            "the trace was exported before torchtraceap.analyze was called, and this "
            "version of torch can export it only once: call analyze first, or "
            "analyse the exported file"
        )
    warnings.warn(
        "the trace was exported before torchtraceap.analyze was called, so it is read "
        "through torch's Python export, which leaves out some device properties and "
        "the profiler's own warnings: call analyze first",
        RuntimeWarning,
        stacklevel=5,  # where analyze was called
    )
    metadata = getattr(prof, "_trace_metadata", None)
    with _private_path() as path:
        try:
            export(inner, path, metadata, use_python_export=True)
        except UnicodeDecodeError as error:
            raise RuntimeError(
                "the trace was exported before torchtraceap.analyze was called, and "
                "torch cannot export it again because some names in it are damaged "
                "(imports inside a region profiled with stacks): call analyze first"
            ) from error
        data = _read(path)
    # It writes instants as spans with a meaningless duration. Text inside an event
    # has its quotes escaped, so this matches nothing else.
    return data.replace(
        b'{"ph":"X","cat":"cpu_instant_event"', b'{"ph":"i","cat":"cpu_instant_event"'
    )


def _repeatable(export: Any) -> bool:
    """Tells whether this torch (2.13 and later) has the Python export."""
    return "use_python_export" in inspect.signature(export).parameters


@contextmanager
def _private_path() -> Iterator[str]:
    """Yields a path in a folder of our own, which is removed at once afterwards."""
    folder = tempfile.mkdtemp(prefix="torchtraceap-")
    try:
        yield os.path.join(folder, "trace.json")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
