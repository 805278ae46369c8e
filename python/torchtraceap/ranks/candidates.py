# SPDX-License-Identifier: BSD-3-Clause
"""candidates.py: which files a folder, a glob or a list stands for, and which of them
are traces."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from torchtraceap.base.errors import TraceError
from torchtraceap.base.files import BESIDE
from torchtraceap.data.load import wanted_source
from torchtraceap.ranks.file_names import ENDINGS, FileName, natural, read_name
from torchtraceap.ranks.first_look import FirstLook, look

_KINDS = "a folder, a glob, a list of paths or the path of each rank"
_RECORD = (
    "Give the folder that the profiler of every rank wrote its .json or .json.gz into"
)
# Reading the beginning of many files waits for a disk or a network.
_READERS = 8


@dataclass(frozen=True)
class Candidate:
    """A file that can be a trace, by what its first bytes tell."""

    path: str
    name: FileName
    first: FirstLook


@dataclass(frozen=True)
class Skipped:
    """A file with the name of a trace that was left out."""

    path: str
    why: str  #: "it is empty"


@dataclass(frozen=True)
class Candidates:
    """What a source stands for."""

    source: str  #: As given; "the list" for several paths.
    top: str  #: The folder below which all traces are.
    is_list: bool  #: The caller named each file.
    traces: tuple[Candidate, ...]  #: At least one.
    skipped: tuple[Skipped, ...]


def candidates_of(source: object) -> Candidates:
    """Find the traces that a source stands for.

    Below a folder these are the files called .json and .json.gz; links are followed,
    each folder and file is taken once. Raises TraceError if there is no trace, or if
    the caller named a file that is none; TypeError for another source.
    """
    if isinstance(source, str | os.PathLike):
        text = os.fsdecode(source)
        paths, skipped = _below(text) if os.path.isdir(text) else (_matching(text), [])
        is_list = False
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        every = source.values() if isinstance(source, Mapping) else source
        text, is_list, skipped = "the list", True, []
        paths = [_path_of(one) for one in every]
        if not paths:
            raise trace_error(text, "no_traces", "it is empty", _RECORD)
    else:
        raise TypeError(wanted_source(_KINDS, source))
    paths = list(dict.fromkeys(paths))
    with ThreadPoolExecutor(_READERS) as readers:
        looks = list(readers.map(look, paths))
    top = _top_of(text, paths)
    traces = []
    for path, first in zip(paths, looks, strict=True):
        if not first.trouble:
            traces.append(Candidate(path, read_name(path, top, first.rank), first))
        elif is_list:
            hint = "Leave it out, or see what `torchtraceap inspect` says of it"
            raise trace_error(path, "not_a_trace", first.trouble, hint)
        else:
            skipped.append(Skipped(path, first.trouble))
    if not traces:
        raise _no_trace(text, skipped)
    return Candidates(text, top, is_list, _less_merged(traces, skipped), tuple(skipped))


def is_of_ranks(source: object) -> bool:
    """Tell whether a source is a folder or a glob, and not the path of a file."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = os.fsdecode(source)
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path))


def trace_error(path: str, kind: str, cause: str, hint: str) -> TraceError:
    """Return the error that says where, what and what to do."""
    return TraceError(f"{path}: {cause}. {hint}.", path, kind, hint + ".")


def _path_of(one: object) -> str:
    if not isinstance(one, str | os.PathLike):
        raise TypeError(wanted_source("a list of paths", one))
    return os.fsdecode(one)


def _below(folder: str) -> tuple[list[str], list[Skipped]]:
    paths: list[str] = []
    skipped: list[Skipped] = []
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            if _is_known(here, seen):
                continue
            entries = sorted(os.scandir(here), key=lambda e: natural(e.name))
        except OSError as error:
            skipped.append(Skipped(here, f"it cannot be read: {error.strerror}"))
            continue
        folders = []
        for entry in entries:
            if entry.name.startswith((".", BESIDE)):
                continue
            try:
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.lower().endswith(ENDINGS) and not _is_known(
                    entry.path, seen
                ):
                    paths.append(entry.path)
            except OSError as error:  # Links in a circle, or that lead nowhere.
                skipped.append(
                    Skipped(entry.path, f"it cannot be read: {error.strerror}")
                )
        waiting.extend(reversed(folders))
    return paths, skipped


def _is_known(path: str, seen: set[tuple[int, int]]) -> bool:
    """Tell whether a file or folder was met before, by this name or another."""
    found = os.stat(path)
    key = (found.st_dev, found.st_ino)
    if key in seen:
        return True
    seen.add(key)
    return False


def _matching(pattern: str) -> list[str]:
    if os.path.lexists(pattern):
        return [pattern]
    if not glob.has_magic(pattern):
        raise trace_error(
            pattern, "no_file", "there is no such file or folder", _RECORD
        )
    paths = sorted(glob.iglob(pattern, recursive=True), key=natural)
    if not paths:
        hint = (
            "Check the pattern; in a shell, put it in quotes or leave it to the shell"
        )
        raise trace_error(pattern, "no_match", "no file matches this pattern", hint)
    return list(_each_file(paths))


def _each_file(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            yield from _below(path)[0]
        else:
            yield path


def _top_of(source: str, paths: list[str]) -> str:
    if os.path.isdir(source):
        return source
    if not glob.has_magic(source):  # Of a list, some may be absolute.
        paths = [os.path.abspath(path) for path in paths]
    return os.path.commonpath(map(os.path.dirname, paths)) if paths else os.curdir


def _less_merged(
    traces: list[Candidate], skipped: list[Skipped]
) -> tuple[Candidate, ...]:
    """Leave out what SGLang merged of the other files beside it."""
    merged = [
        one
        for one in traces
        if os.path.basename(one.path).lower().startswith("merged-")
    ]
    if len(merged) == len(traces):
        return tuple(traces)
    skipped.extend(Skipped(one.path, "it is merged of the others") for one in merged)
    return tuple(one for one in traces if one not in merged)


def _no_trace(source: str, skipped: list[Skipped]) -> TraceError:
    if not skipped:
        return trace_error(
            source, "no_traces", "no .json or .json.gz is in it", _RECORD
        )
    if len(skipped) == 1:
        one = skipped[0]
        cause = f"there is no trace: of {one.path}, {one.why}"
    else:
        named = ", ".join(f"{one.path} ({one.why})" for one in skipped[:3])
        more = f" and {len(skipped) - 3} more" if skipped[3:] else ""
        cause = f"none of {len(skipped)} files is a trace: {named}{more}"
    return trace_error(source, "no_traces", cause, _RECORD)
