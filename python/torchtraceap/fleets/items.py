# SPDX-License-Identifier: BSD-3-Clause
"""items.py: the traces and jobs of a fleet; programs and times by their paths.

An item is what one task analyzes: a trace, or the traces of the ranks of a job.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from torchtraceap.fleets.urls import place_of
from torchtraceap.ranks.file_names import read_name

# Memory that the analysis of a trace takes: the process itself, and by the bytes of the
# text. Of 74 traces the most beyond 128 MiB was 2.6 times the text, and gzip makes the
# text 8 to 24 times smaller.
_PROCESS, _PLAIN, _GZIPPED = 128 << 20, 4, 60
# Of the other ranks of a job tables and records are kept: 32 of 0.26 MB of text took
# 0.4 MB each, 64 of 3 kB took 0.1 MB.
_KEPT, _SHARE = 256 << 10, 4

_DATE = re.compile(
    r"(?<!\d)(20\d\d)([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)"
)
_CLOCK = r"(?:[-_T. ]?\d{2}[-_:.h]?\d{2}(?:[-_:.m]?\d{2})?(?:\.\d+)?Z?(?!\d))?"
_NUMBERED = (
    "run|iter|iteration|step|cycle|epoch|job|build|try|attempt|part|trace|profile|"
    "worker|pid"
)
# What differs from one run of a program to the next: dates, commits, long numbers, what
# counts, and what is left of a rank.
_VARIES = re.compile(
    rf"{_DATE.pattern}{_CLOCK}"
    r"|(?<![0-9a-zA-Z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![0-9a-zA-Z])"
    r"|\d{5,}(?:\.\d+)?"
    rf"|(?<![a-zA-Z])(?:{_NUMBERED})[-_.= ]?\d+(?![0-9a-zA-Z])"
    r"|(?<![a-zA-Z])(?:global[-_]?|local[-_]?)?rank(?:[-_.= ]?of\d+)?(?![a-zA-Z])",
    re.IGNORECASE,
)
_COMMIT = re.compile(
    r"(?<![0-9a-zA-Z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![0-9a-zA-Z])"
)
_STAMP = re.compile(r"(?<!\d)(1\d{18}|1\d{15}|1\d{12}|1\d{9})(?!\d)")
_ENDING = re.compile(r"(\.pt)?(\.trace)?\.(json|pftrace)(\.gz)?$", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Recordings of torch.profiler are of these years.
_FIRST, _LAST = datetime(2017, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
#: What `--path` may name.
LABELS = ("program", "model", "commit", "host")


@dataclass(frozen=True)
class FleetFile:
    """A file, and its state: another size or stamp is another content."""

    url: str  #: An absolute path, or a URL as `public_url` gives it.
    size: int
    stamp: str  #: Of a file its time of change, of an object its etag if it has one.
    modified: float  #: Seconds since 1970; 0 if unknown.
    is_gzipped: bool = False
    secret_url: str = ""  #: To read it by, where ``url`` leaves out what gives access.

    @property
    def needed_bytes(self) -> int:
        """About the memory that its analysis takes."""
        return _PROCESS + self.size * (_GZIPPED if self.is_gzipped else _PLAIN)


@dataclass(frozen=True)
class Item:
    """A trace, or the traces of the ranks of a job."""

    id: str  #: The same for the same place.
    url: str  #: Of the trace; of a job its folder, or the pattern of its files.
    top: str  #: The innermost folder below which its files are.
    files: tuple[FleetFile, ...]
    labels: tuple[tuple[str, str], ...]  #: Of `LABELS`, those that the path tells.
    fixed: frozenset[str]  #: Those of `--path`, which go before what a trace tells.
    name_time: datetime | None  #: As the path tells.

    @property
    def time_of_file(self) -> datetime:
        """When its first file was written; 1970 if that is not known."""
        first = min(one.modified for one in self.files)
        return sensible_time(round(first * 1e9)) or _EPOCH

    @property
    def needed_bytes(self) -> int:
        """About the memory that its analysis takes: that of its largest trace, and what
        is kept of the others."""
        largest, *others = sorted((f.needed_bytes for f in self.files), reverse=True)
        return largest + sum(_KEPT + (one - _PROCESS) // _SHARE for one in others)


def item_of(
    url: str,
    files: Sequence[FleetFile],
    top: str,
    source: str,
    pattern: re.Pattern[str] | None,
) -> Item:
    """Return an item; ``source`` is the folder as it was given, below which the path
    names the program, and ``pattern`` has groups of `LABELS`."""
    relative = below(files[0].url, source)
    found = pattern.search(files[0].url) if pattern is not None else None
    given = {k: v for k, v in (found.groupdict() if found else {}).items() if v}
    # A folder of ranks names itself; of a pattern the first file does.
    program = program_of(below(top, source) if url == top else relative)
    program = program or program_of(source.rpartition(os.sep)[2])
    guessed = {"program": program or "program"}
    if commit := _COMMIT.search(relative):
        guessed["commit"] = commit[0]
    labels = tuple(sorted((guessed | given).items()))
    time = _time_of(relative)
    return Item(id_of(url), url, top, tuple(files), labels, frozenset(given), time)


def below(url: str, folder: str) -> str:
    """Return the path of a file or folder below another; "" if it is that itself.

    Keys of a store differ from paths: ``a//b`` is not ``a/b``.
    """
    return f"{place_of(url)}/".removeprefix(f"{folder}/").strip("/")


def id_of(text: str) -> str:
    """Return a short name for a place; two of a million places share one by a chance of
    one in ten million."""
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


def program_of(relative: str) -> str:
    """Return what the traces of one program have in common: the path below the source,
    without dates, commits, ranks, processes and running numbers."""
    if not relative:
        return ""
    name = read_name(relative, os.curdir)
    text = "".join(piece for kind, piece in name.pieces if not kind)
    text = _VARIES.sub("", _ENDING.sub("", text))
    parts = [re.sub(r"([-_.=@ ])[-_.=@ ]*", r"\1", part) for part in text.split("/")]
    parts = [part.strip("-_.=@ ") for part in parts]
    if parts[-1] in ("trace", "profile"):  # Only a way to call the file.
        del parts[-1]
    return "/".join(filter(None, parts))


def sensible_time(ns: int) -> datetime | None:
    """Return a time since 1970; None if nothing can have been recorded then."""
    if not 0 < ns < 1 << 62:
        return None
    time = _EPOCH + timedelta(microseconds=ns // 1000)
    return time if _FIRST <= time < _LAST else None


def _time_of(relative: str) -> datetime | None:
    """Return the last time in a path: a date, or a stamp since 1970."""
    times: list[tuple[int, datetime | None]] = []
    for date in _DATE.finditer(relative):
        try:
            day = datetime(int(date[1]), int(date[3]), int(date[4]), tzinfo=UTC)
        except ValueError:  # The 30th of February.
            continue
        times.append((date.start(), day))
    for stamp in _STAMP.finditer(relative):
        ns = int(stamp[1]) * 10 ** (19 - len(stamp[1]))
        times.append((stamp.start(), sensible_time(ns)))
    known = [(at, time) for at, time in times if time is not None]
    return max(known)[1] if known else None
