# SPDX-License-Identifier: BSD-3-Clause
"""analysis.py: the two verbs of the package, `load` and `analyze`."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, cast, overload

from torchtraceap import _core

if TYPE_CHECKING:
    from torchtraceap.report import Report


class Profiler(Protocol):
    """A torch.profiler.profile, told by its members: torch is never imported here."""

    @property
    def profiler(self) -> Any: ...

    def events(self) -> Any: ...


_MOST_EVENTS = 2**32 - 1  # what the core can count

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | _core.Trace


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
) -> _core.Trace:
    """Load a profiler trace without analysing it::

        trace = torchtraceap.load("trace.json.gz")
        trace.columns["dur"], trace.name(0), trace.warnings

    Args:
        source: Path of a ``.json`` or ``.json.gz`` file, told apart by content, or
            that file's bytes.

    Returns:
        The events as NumPy columns, with all that was odd about the file.

    Raises:
        TraceError: The file is a folder, empty, damaged, or no profiler trace. The
            message says what, where and what to do.
        FileNotFoundError: There is no such file, or it may not be read.
        TypeError: ``source`` is neither a path nor bytes.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return _core.load_bytes(bytes(source))
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        try:
            path.encode()
        except UnicodeEncodeError:  # A name of bytes that are no UTF-8.
            with open(path, "rb") as file:
                return _core.load_bytes(file.read())
        return _core.load_file(path)
    raise TypeError(_wanted("a path or bytes", source))


# A str is an iterable of strings too, but means a path.
@overload
def analyze(  # type: ignore[overload-overlap]
    source: Source | Profiler, *, max_events: int | None = None
) -> Report: ...
@overload
def analyze(
    source: Iterable[Source | Profiler], *, max_events: int | None = None
) -> list[Report]: ...
def analyze(
    source: Source | Profiler | Iterable[Source | Profiler],
    *,
    max_events: int | None = None,
) -> Report | list[Report]:
    """Label every window of a profiler trace and say what wastes time in it.

    Call it on a trace already saved, or use it as the profiler's handler::

        report = torchtraceap.analyze("trace.json.gz")
        print(report.summary())

        with torch.profiler.profile(on_trace_ready=torchtraceap.analyze) as prof:
            train_one_epoch()
        report = prof.torchtraceap_reports[-1]

    The profiler discards what a handler returns. A report made from a profiler is
    therefore also appended to ``prof.torchtraceap_reports``, one for each recorded
    cycle; the list is made with the first. The user's own exports of the trace work
    after it; one before works too, with a warning.

    Args:
        source: Path of a trace (``.json`` or ``.json.gz``), its bytes, a ``Trace``
            from ``load``, or a profiler that has stopped recording. A list or other
            iterable of these gives a list of reports.
        max_events: Events that a window may hold, an int of 1 or more. None keeps
            the core's default.

    Returns:
        The report, or one for each member of the iterable, in its order.

    Raises:
        TraceError: The bytes are no profiler trace. The message names the file and
            the place in it, what was expected there and what to do.
        FileNotFoundError: There is no such file, or it may not be read.
        ValueError: ``max_events`` is out of range, or a profiler has recorded
            nothing. ``TraceError`` is a ValueError too.
        TypeError: ``source`` is none of the above, or ``max_events`` no int.

    As a handler it raises none of these but warns, so that a training run goes on.
    """
    if _is_profiler(source):
        from torchtraceap.session import analyze_profiler

        # None only inside a handler, where nobody sees it.
        return cast("Report", analyze_profiler(source, max_events))
    check_max_events(max_events)
    if isinstance(source, str | os.PathLike | bytes | bytearray | memoryview):
        source = load(source)
    if isinstance(source, _core.Trace):
        from torchtraceap.report import Report

        return Report(_core.analyze(source, max_events=max_events), source)
    if isinstance(source, Iterable) and not _instead(source):
        return [analyze(one, max_events=max_events) for one in source]
    raise TypeError(
        _wanted("a path, bytes, a Trace, a profiler or a list of these", source)
    )


def check_max_events(max_events: object) -> None:
    """Raise what ``analyze`` raises for an option that is not to be used."""
    if max_events is None:
        return
    if isinstance(max_events, bool) or not isinstance(max_events, SupportsIndex):
        raise TypeError(
            f"max_events must be an int, but is of type {type(max_events).__name__}"
        )
    number = operator.index(max_events)
    if number < 1:
        raise ValueError(f"max_events must be at least 1, but is {number}")
    if number > _MOST_EVENTS:
        raise ValueError(f"max_events must be at most {_MOST_EVENTS}, but is {number}")


def _is_profiler(source: object) -> bool:
    # The second is what torch.autograd.profiler.profile has.
    return (hasattr(source, "profiler") and hasattr(source, "events")) or hasattr(
        source, "kineto_results"
    )


def _wanted(what: str, source: object) -> str:
    text = f"source must be {what}, but is of type {type(source).__name__}"
    return text + (f": {hint}" if (hint := _instead(source)) else "")


def _instead(source: object) -> str:
    """Return what to pass instead of an iterable that is no list of sources."""
    if isinstance(source, Mapping):
        return "of a trace that is loaded already, pass json.dumps(trace).encode()"
    if hasattr(source, "read"):
        return "of an open file, pass its path, or the bytes that it holds"
    return ""
