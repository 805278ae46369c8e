# SPDX-License-Identifier: BSD-3-Clause
"""source.py: what can be analyzed, and which of it something is.

One trace: the path of a file, its bytes, a Trace or a profiler. The ranks of a job: a
folder, a glob, several paths, or the path of each rank. Else a list of any of these.
Folders and globs are looked through here, and no file is opened.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from torchtraceap import _core
from torchtraceap.base.arguments import of_type
from torchtraceap.base.errors import trace_error
from torchtraceap.base.files import BESIDE

Readable = str | os.PathLike[str] | bytes | bytearray | memoryview
#: One trace.
Source = Readable | _core.Trace

#: What the names of files end with that may be traces.
ENDINGS = (".json", ".json.gz", ".pftrace", ".pftrace.gz")
#: What errors call several paths.
LIST = "the list"
#: What engines call the folder of the captures of graphs, below that of the traces.
CAPTURES = "capture_traces"
_WANTED = "a path, bytes, a Trace, a profiler or a list of these"
_NUMBER = re.compile(r"(\d+)")


class Profiler(Protocol):
    """A torch.profiler.profile, known by its members: torch is never imported here."""

    @property
    def profiler(self) -> Any: ...

    def events(self) -> Any: ...


@dataclass(frozen=True)
class Skipped:
    """A file with the name of a trace, or a folder, that was left out."""

    path: str
    why: str  #: "it is empty"


@dataclass(frozen=True)
class RankPaths:
    """Files that are to be the ranks of one job."""

    text: str  #: The folder or glob as given; "the list" of the others.
    paths: tuple[str, ...]  #: As given; of a folder or glob in natural order.
    top: str  #: The folder below which all of them are.
    is_list: bool = False  #: The caller named each file.
    by_rank: Mapping[int, str] | None = None  #: Of a mapping: the paths by rank.
    skipped: tuple[Skipped, ...] = ()  #: What could not be looked through.


def source_of(source: object) -> str | bytes | _core.Trace | RankPaths | list[object]:
    """Resolve a source that is not a profiler: to the path, bytes or Trace of one
    trace, the paths of the ranks of a job, or a list of other sources.

    Raises TraceError if no file matches a glob, TypeError for another source.
    """
    if isinstance(source, _core.Trace):
        return source
    if is_of_ranks(source):
        text = os.fsdecode(source)
        return files_below(text) if os.path.isdir(text) else _globbed(text)
    if isinstance(source, str | os.PathLike | bytes | bytearray | memoryview):
        return readable(source)
    if isinstance(source, Mapping) and source and all(type(k) is int for k in source):
        paths = {rank: _path_of(one) for rank, one in source.items()}
        return _listed(list(paths.values()), paths)
    if not isinstance(source, Iterable) or _instead(source):
        raise TypeError(wanted_source(_WANTED, source))
    sources = list(source)
    if len(sources) == 1 and is_of_ranks(sources[0]):
        return source_of(sources[0])
    if sources and all(isinstance(one, str | os.PathLike) for one in sources):
        return _listed([os.fsdecode(one) for one in sources])
    return sources


def readable(source: object) -> str | bytes:
    """Return the path, or the bytes, that one file is given as. TypeError for another
    source."""
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    raise TypeError(wanted_source("a path or bytes", source))


def is_of_ranks(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether a source is a folder or a glob, and not the path of a file."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = os.fsdecode(source)
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path))


def is_profiler(source: object) -> bool:
    """Tell whether a source is a profiler of torch, of either kind."""
    # The second is what torch.autograd.profiler.profile has.
    return (hasattr(source, "profiler") and hasattr(source, "events")) or hasattr(
        source, "kineto_results"
    )


def wanted_source(what: str, source: object) -> str:
    """Return the message for a source that is none of ``what``."""
    text = f"source must be {what}, but is {of_type(source)}"
    return text + (f": {hint}" if (hint := _instead(source)) else "")


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts iteration_9 before iteration_10."""
    return [
        (int(part[:20]), part) if part.isdigit() and part.isascii() else (-1, part)
        for part in _NUMBER.split(text)
    ]


def _instead(source: object) -> str:
    """Return what to pass instead of an iterable that is not a list of sources."""
    if isinstance(source, Mapping):
        return "of a trace that is loaded already, pass json.dumps(trace).encode()"
    if hasattr(source, "read"):
        return "of an open file, pass its path, or the bytes that it holds"
    return ""


def _path_of(one: object) -> str:
    if not isinstance(one, str | os.PathLike):
        raise TypeError(wanted_source("the path of each rank", one))
    return os.fsdecode(one)


def _listed(
    paths: Sequence[str], by_rank: Mapping[int, str] | None = None
) -> RankPaths:
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    top = os.path.commonpath(folders)
    return RankPaths(LIST, tuple(paths), top, is_list=True, by_rank=by_rank)


def files_below(
    folder: str, may_read: Callable[[str], bool] = lambda path: True
) -> RankPaths:
    """Return the files below a folder that may be traces by their names, without those
    that ``may_read`` is false of; nor are folders entered of which it is, or that hold
    captures of graphs."""
    skipped: list[Skipped] = []
    paths = _below(folder, skipped, may_read)
    return RankPaths(folder, tuple(paths), folder, skipped=tuple(skipped))


def _globbed(text: str) -> RankPaths:
    """Return the files of a glob, and those below its folders."""
    matches = sorted(glob.iglob(text, recursive=True), key=natural)
    if not matches:
        hint = "Check it; in a shell, put it in quotes or leave it to the shell"
        raise trace_error(text, "no_match", "no file matches this pattern", hint)
    skipped: list[Skipped] = []
    paths: dict[str, None] = {}  # Each once.
    for match in matches:
        here = [match]
        if os.path.isdir(match):
            here = _below(match, skipped, lambda path: True)
        paths.update(dict.fromkeys(here))
    top = os.path.commonpath(map(os.path.dirname, paths)) if paths else os.curdir
    return RankPaths(text, tuple(paths), top, skipped=tuple(skipped))


def _below(
    folder: str, skipped: list[Skipped], may_read: Callable[[str], bool]
) -> list[str]:
    """Return the paths of `files_below`; links are followed, each folder and file is
    taken once."""
    paths: list[str] = []
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            if _is_known(here, seen):
                continue
            entries = sorted(os.scandir(here), key=lambda entry: natural(entry.name))
        except OSError as error:
            skipped.append(Skipped(here, f"it cannot be read: {error.strerror}"))
            continue
        folders = []
        for entry in entries:
            if entry.name.startswith((".", BESIDE)):
                continue
            try:
                is_folder = entry.is_dir()
                if not is_folder and not entry.name.lower().endswith(ENDINGS):
                    continue
                if not may_read(entry.path):
                    skipped.append(Skipped(entry.path, "it may not be read here"))
                elif is_folder and entry.name != CAPTURES:
                    folders.append(entry.path)
                elif not is_folder and not _is_known(entry.path, seen):
                    paths.append(entry.path)
            except OSError as error:  # Links in a circle, or that lead nowhere.
                skipped.append(
                    Skipped(entry.path, f"it cannot be read: {error.strerror}")
                )
        waiting.extend(reversed(folders))
    return paths


def _is_known(path: str, seen: set[tuple[int, int]]) -> bool:
    """Tell whether a file or folder was met before, by this name or another."""
    found = os.stat(path)
    key = (found.st_dev, found.st_ino)
    if key in seen:
        return True
    seen.add(key)
    return False
