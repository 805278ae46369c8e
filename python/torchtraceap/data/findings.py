# SPDX-License-Identifier: BSD-3-Clause
"""findings.py: the findings of a report, with lines that only the source has.

A trace records the running function and its callee, but not the line of the call. The
source gives the line if only one line makes that call. A file edited since, or several
such calls, give none.
"""

from __future__ import annotations

import linecache
import math
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from torchtraceap import _core
from torchtraceap._core import Finding, Location
from torchtraceap.base.program_files import program_files, read_program
from torchtraceap.data.call_sites import Scope, Source

#: The pattern of waits for the device, which a dry run lists.
WAITS = "sync_stall"
#: The pattern of windows that the learned detector flags and no rule explains.
UNEXPLAINED = "unexplained"

# What a line must hold of a finding's time: the rest is within the quarter that is not
# counted on of a gain.
_BULK = 0.80
_BUILTIN = re.compile(r"<built-in (?:function|method) (\w+)")
_FRAME = re.compile(r"(.*)\((\d+)\): (.*)")
_MODULE = re.compile(r"nn\.Module: (\w+?)_\d+$")
_PLAIN = re.compile(r".*\): (?!__)\w+$")
# Methods and operators without a call, by what in the language runs them.
_KINDS = {
    **dict.fromkeys(("__next__", "__iter__", "__anext__"), ("for",)),
    **dict.fromkeys(("__enter__", "__exit__", "__aenter__", "__aexit__"), ("with",)),
    **dict.fromkeys(("__bool__", "aten::is_nonzero"), ("test",)),
    **dict.fromkeys(("__getitem__", "aten::select", "aten::slice"), ("item",)),
    "aten::index": ("item",),
    **dict.fromkeys(("__setitem__", "aten::index_put_"), ("set_item",)),
    # An index is asked for its number, and so is what is written to an element.
    "aten::item": ("item", "set_item"),
}
# Calls that run an operator without its name: a tensor asked for its truth or number.
_OPERATOR_CALLS = {
    "aten::is_nonzero": ("bool", "any", "all", "min", "max", "sorted", "filter"),
    "aten::item": (
        *("float", "int", "complex", "range", "round"),
        *("format", "str", "print"),
    ),
}
_INLINE = {"<listcomp>", "<setcomp>", "<dictcomp>"}


def read_findings(core: _core.Report) -> tuple[Finding, ...]:
    """Return the rules' findings, in the core's order."""
    return core.findings(FoundLines(core.trace.path).line_of)


class FoundLines:
    """Finds lines of findings; reads each source file once."""

    def __init__(self, trace_path: str) -> None:
        folders = [os.getcwd(), *sys.path]
        if os.path.isfile(trace_path):
            folders.append(os.path.dirname(os.path.abspath(trace_path)))
        self._folders = folders
        #: What was written to after the trace may have had other lines then.
        self._recorded_at = _written_at(trace_path)
        self._sources: dict[str, list[Source]] = {}

    def line_of(
        self,
        where: Location,
        calls: Sequence[tuple[Sequence[str], int]],
        wasted_ns: int,
    ) -> int | None:
        """Return the line of the user's function that most of a finding's time went
        through; `calls`: what the function called, and nanoseconds of each."""
        if not where.user or not calls:
            return None
        for source in self._read(where.file):
            scope = source.scope(where.function, where.recorded_line or 0)
            if scope is None:
                continue
            spent: dict[int, int] = {}
            for names, ns in calls:
                line = _line(source, scope, where.file, names)
                if line is not None:
                    spent[line] = spent.get(line, 0) + ns
            best = max(spent, key=lambda line: spent[line], default=None)
            enough = best and spent[best] >= _BULK * wasted_ns
            return best if enough else None
        return None

    def _read(self, file: str) -> list[Source]:
        if file not in self._sources:
            known = self._sources[file] = []
            for text in self._texts(file):
                with suppress(ValueError):
                    known.append(Source(text))
        return self._sources[file]

    def _texts(self, file: str) -> list[bytes | str]:
        cell = linecache.cache.get(file)  # Of a notebook, which has no file.
        if cell is not None and len(cell) == 4 and cell[1] is None:
            return ["".join(cell[2])]
        folders = list(self._folders)
        # A share of another machine is not opened because a trace names it.
        if os.path.isabs(file) and not file.startswith(("//", "\\")):
            folders.append(os.path.dirname(file))
        paths = dict.fromkeys(program_files(file, folders))
        read = (read_program(p) for p in paths if _written_at(p) <= self._recorded_at)
        return [text for text in read if text is not None]


def _written_at(path: str) -> float:
    """Return when a file was written to; of none, as a trace in memory, any time."""
    try:
        return os.stat(path).st_mtime
    except (OSError, ValueError):
        return math.inf


def _line(source: Source, scope: Scope, file: str, calls: Sequence[str]) -> int | None:
    """Return the only line of a function that makes a call, which is named by what it
    ran, outermost first."""
    for depth, name in enumerate(calls):
        lines, goes_on = _lines(source, scope, file, name)
        # What a wrapper wraps is a function with a name; it calls much else.
        if depth and not _PLAIN.match(name):
            return None
        if lines or not goes_on:
            return lines.pop() if len(lines) == 1 else None
    return None


def _lines(source: Source, scope: Scope, file: str, name: str) -> tuple[set[int], bool]:
    """Return the lines that can have made a call, and whether the function it called
    may be a wrapper, whose name differs from the function it wraps."""
    if built_in := _BUILTIN.match(name):
        function = built_in[1]
        return _at(scope, "call", function) | _kind(scope, function), False
    if module := _MODULE.match(name):
        instances = [
            v for v, made in source.variables.made_by.items() if module[1] in made
        ]
        return {n for v in instances for n in _at(scope, "call", v)}, False
    frame = _FRAME.match(name)
    if frame is None:
        calls = (_at(scope, "call", call) for call in _OPERATOR_CALLS.get(name, ()))
        return _kind(scope, name).union(*calls), False
    path, begin, function = frame[1], int(frame[2]), frame[3]
    own = source.scope(function, begin) if path == file else None
    if function in _INLINE:
        inside = own is not None and scope.first <= begin <= scope.last
        return ({begin} if inside else set()), False
    if function == "__init__":
        return (_at(scope, "call", own.owner) if own and own.owner else set()), False
    lines = _at(scope, "call", function) | _kind(scope, function)
    if function.startswith("__"):
        return lines, False
    if (
        lines
        and (own is None or own.generator)
        and source.variables.is_iterated_later(function)
    ):
        # The frame of a generator runs where it is asked for an element.
        lines |= _at(scope, "for") | _at(scope, "call", "next")
    return lines, path != file or (own is not None and own.nested)


def _at(scope: Scope, kind: str, name: str = "") -> set[int]:
    return {site.line for site in scope.sites if (site.kind, site.name) == (kind, name)}


def _kind(scope: Scope, function: str) -> set[int]:
    return set().union(*(_at(scope, kind) for kind in _KINDS.get(function, ())))
