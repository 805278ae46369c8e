# SPDX-License-Identifier: BSD-3-Clause
"""kept_trace.py: the one JSON of a run, kept so that it can be exported again."""

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
# Options of torch 2.13, and of 2.15, with which torch writes the trace by itself.
_OTHER_FORMS = ("use_python_export", "cuda_graph_annotations")
_BACK_ENDS = ("torch.profiler._cupti", "torch.profiler._cuspy")
_NO_ROOM = (
    "torchtraceap could not keep the trace in the folder for temporary files; "
    "is it full? TMPDIR names another"
)


class KeptTrace:
    """The JSON of one cycle, and the export that hands out copies of it.

    `owner` is the profile that exports only once, and whose method this stands in for:
    torch's autograd profile, or the one around it where `merges` says so.

    Holds a file without a name, which the system removes when this object goes; it
    goes with its owner, hence the weak references.
    """

    def __init__(self, owner: Any) -> None:
        self._owner = weakref.ref(owner)
        self._results = weakref.ref(inner_profile(owner).kineto_results)
        self._is_merged = merges(owner)  # not known later
        self._fd = -1  # the only export failed: nothing to hand out
        with private_path() as path:
            getattr(type(owner), EXPORT)(owner, path)
            if wait := getattr(owner, "wait_for_exports", None):
                wait()  # torch 2.14 and later can write in the background
            if os.path.exists(path):
                self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                weakref.finalize(self, os.close, self._fd)
        self._head_bytes = self._find_trace_name()
        if self._head_bytes < 0:
            self._fd = -1

    def holds(self, results: object) -> bool:
        return self._results() is results

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written."""
        return self._fd < 0

    def load(self) -> _core.Trace:
        if self.is_empty:
            raise OSError(_NO_ROOM)
        return _core.load_file(self.path)

    @property
    def path(self) -> str:
        """Where this process can read the file; for a trace that was loaded."""
        return f"/proc/self/fd/{self._fd}"

    def __call__(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Exports in place of the owner's own method."""
        owner = self._owner()
        assert owner is not None  # calls come through it
        export = getattr(type(owner), EXPORT)
        given = inspect.signature(export).bind(owner, path, *args, **kwargs)
        # An autograd profile that accumulates cycles has newer results by now.
        stale = not self.holds(inner_profile(owner).kineto_results)
        # Another form of it, which torch makes as often as it is asked to.
        other = any(given.arguments.get(name) for name in _OTHER_FORMS)
        if stale or other:
            return export(owner, path, *args, **kwargs)
        if self.is_empty:
            if not is_repeatable(export):
                raise RuntimeError(f"Trace is already saved. {_NO_ROOM}")
            given.arguments["use_python_export"] = True
            return export(*given.args, **given.kwargs)
        try:
            where = os.fspath(path)
            if self._is_merged and ".pftrace" in where:
                raise OSError("once it was read, this back end can write JSON only")
            if self._is_merged and where.endswith(".gz"):
                self.pack(where)
            else:
                with replacing(where) as new, open(new, "wb") as out:
                    self._copy_to(out, where)
        except OSError as error:
            # Kineto itself only prints here; a wrong path must not end a training run.
            warnings.warn(f"the trace was not exported: {error}", stacklevel=3)
        return None

    def pack(self, path: str) -> None:
        """Writes the trace to `path` as gzip."""
        if self.is_empty:
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
        if self.is_empty:
            return -1
        size = os.fstat(self._fd).st_size
        start = max(0, size - _TAIL_BYTES)
        tail = os.pread(self._fd, _TAIL_BYTES, start)
        at = tail.rfind(_TRACE_NAME)
        return start + at if at >= 0 and tail.rstrip().endswith(b"}") else -1


def inner_profile(prof: Any) -> Any:
    """Returns the torch.autograd profile that holds the results of a profiler."""
    return prof if hasattr(prof, "kineto_results") else prof.profiler


def merges(prof: Any) -> bool:
    """Tells whether torch's CUPTI back end adds what devices did as `prof` exports:
    cupti_monitor in 2.13 and 2.14, Cuspy in 2.15. From 2.14 on it does so once."""
    return bool(getattr(prof, "_use_cupti_monitor", False)) or any(
        type(part).__module__.startswith(_BACK_ENDS) for part in vars(prof).values()
    )


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
