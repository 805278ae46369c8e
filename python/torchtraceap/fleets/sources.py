# SPDX-License-Identifier: BSD-3-Clause
"""sources.py: finds the traces and jobs of a fleet: in folders, by patterns, behind
URLs.

Everything that looks like a trace by its name is listed, and the first 64 KiB of each
are read, of a URL with a range request: they tell which files are ranks of one job.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.data.source import (
    ENDINGS,
    RankPaths,
    Skipped,
    is_of_ranks,
    natural,
    source_of,
)
from torchtraceap.fleets.items import FleetFile, Item, item_of
from torchtraceap.ranks.file_names import read_name
from torchtraceap.ranks.first_look import NO_TRACE, FirstLook, look, look_at
from torchtraceap.ranks.jobs_below import is_job, jobs_and_traces

# Looking at a file waits for a disk or a network.
_LOOKERS = 32
# What may tell the recordings of a folder apart; see ranks/rank_files.py.
_APART = ((), ("stamp",), ("DP",), ("process", "stamp"))
# What stores call the state of an object, the surest first, and its time of change.
_STAMPS = ("ETag", "etag", "md5Hash", "content_md5", "generation", "blob_id")
_TIMES = ("LastModified", "mtime", "last_modified", "updated", "Last-Modified")


@dataclass
class Found:
    """The items of a fleet, in order of time as far as names and files tell."""

    items: list[Item] = field(default_factory=list)
    others: int = 0  #: Files of other contents with the name of a trace.
    skipped: list[Skipped] = field(default_factory=list)  #: What cannot be read.


@dataclass(frozen=True)
class _Listing:
    """The files of one source."""

    source: str  # Below it paths name programs.
    files: Mapping[str, FleetFile]
    is_exact: bool = False  # The caller named the file.


def find_items(
    sources: Sequence[str], path: re.Pattern[str] | None = None, out: str = ""
) -> Found:
    """Find the traces and jobs in folders, files, patterns and URLs, without the files
    below the folder ``out``.

    ``path`` has groups of `items.LABELS`. Raises TraceError for a source that is not
    there, cannot be listed, or needs a package that is not installed.
    """
    found = Found()
    known: dict[str, FleetFile] = {}
    for text in sources:
        listing = _remote(text) if is_url(text) else _local(text, found.skipped)
        files = {
            url: file
            for url, file in listing.files.items()
            if url not in known and not (out and url.startswith(f"{out}{os.sep}"))
        }
        known |= files
        looks = _looks(files.values())
        traces = []
        for url, first in looks.items():
            if first.trouble == NO_TRACE and not listing.is_exact:
                found.others += 1
            else:
                traces.append(url)
        for name, top, urls in _grouped(listing.source, traces, looks):
            of_item = [files[url] for url in urls]
            found.items.append(item_of(name, of_item, top, listing.source, path))
    # So that a part of the data set is of few days.
    found.items.sort(
        key=lambda i: ((i.name_time or i.time_of_file).timestamp(), natural(i.url))
    )
    return found


def is_url(text: str) -> bool:
    """Tell whether a source is for fsspec, and not for the file system."""
    return re.match(r"[a-z][a-z0-9+.-]*://", text) is not None


def file_system(url: str) -> Any:
    """Return fsspec's file system of a URL. Raises TraceError if there is none."""
    try:
        import fsspec
    except ImportError as error:
        hint = "Install it with pip install 'torchtraceap[fleet]'"
        raise trace_error(url, "no_fsspec", "a URL needs fsspec", hint) from error
    protocol = url.partition("://")[0]
    try:
        return fsspec.filesystem(protocol)
    except (ImportError, ValueError) as error:
        hint = "Install the package that it names, or copy the files to a folder"
        cause = f"fsspec cannot open it ({error})"
        raise trace_error(url, "no_protocol", cause, hint) from error


def _local(text: str, skipped: list[Skipped]) -> _Listing:
    if is_of_ranks(text):
        listed = source_of(os.path.abspath(text))
        assert isinstance(listed, RankPaths)
        skipped += listed.skipped
        top, paths = os.path.abspath(listed.top), listed.paths
    else:
        paths = (os.path.abspath(text),)
        top = os.path.dirname(paths[0])
    files = {}
    for path in paths:
        try:
            state = os.stat(path)
        except (OSError, ValueError) as error:  # ValueError: a NUL byte.
            why = getattr(error, "strerror", None) or str(error)
            if not is_of_ranks(text):
                hint = "Check the path and its read permission"
                raise trace_error(text, "missing", why, hint) from error
            skipped.append(Skipped(path, f"it cannot be read: {why}"))
            continue
        stamp = str(state.st_mtime_ns)
        files[path] = FleetFile(path, state.st_size, stamp, state.st_mtime)
    return _Listing(top, files, is_exact=not is_of_ranks(text))


def _remote(text: str) -> _Listing:
    protocol = text.partition("://")[0]
    system = file_system(text)
    try:
        given = system._strip_protocol(text)
        top = given
        if has_magic := any(c in given for c in "*[") or (
            "?" in given and protocol not in ("http", "https")
        ):
            listed = system.glob(given, detail=True)
            while any(c in top for c in "*?["):
                top = top.rpartition("/")[0]
        elif system.isfile(given) and given.lower().endswith(ENDINGS):
            listed = {given: system.info(given)}
            top = given.rpartition("/")[0]
        else:
            listed = system.find(given, detail=True)
            if not listed and not system.exists(given):
                raise FileNotFoundError("it is not there")
        listed = {
            path: info
            for path, info in listed.items()
            if info.get("type") != "directory" and path.lower().endswith(ENDINGS)
        }
        if any(info.get("size") is None for info in listed.values()):  # Of a web page.
            with ThreadPoolExecutor(_LOOKERS) as askers:
                infos = list(askers.map(system.info, listed))
            listed = dict(zip(listed, infos, strict=True))
    except Exception as error:  # Of any store's library, from a network.
        cause = f"it cannot be listed ({_first_line(error)})"
        hint = "Check the URL, the credentials and the network"
        raise trace_error(text, "unreachable", cause, hint) from error
    is_exact = not has_magic and top != given
    files = {}
    for path, info in listed.items():
        url = path if is_url(path) else f"{protocol}://{path.lstrip('/')}"
        files[url] = _file_of(url, info)
    return _Listing(
        top if is_url(top) else f"{protocol}://{top.lstrip('/')}", files, is_exact
    )


def _file_of(url: str, info: Mapping[str, Any]) -> FleetFile:
    time = next((info[name] for name in _TIMES if info.get(name)), 0)
    if isinstance(time, str):
        with_zone = time.replace("Z", "+00:00")
        try:
            time = parsedate_to_datetime(time)  # As of HTTP.
        except ValueError:
            time = datetime.fromisoformat(with_zone) if with_zone[:1].isdigit() else 0
    modified = time.timestamp() if isinstance(time, datetime) else float(time)
    stamp = next((str(info[name]) for name in _STAMPS if info.get(name)), str(modified))
    return FleetFile(url, int(info.get("size") or 0), stamp, modified)


def _looks(files: Iterable[FleetFile]) -> dict[str, FirstLook]:
    """Return what the beginning of each file tells."""
    files = list(files)
    with ThreadPoolExecutor(_LOOKERS) as lookers:
        looks = lookers.map(_look, files)
        return {file.url: first for file, first in zip(files, looks, strict=True)}


def _look(file: FleetFile) -> FirstLook:
    if not is_url(file.url):
        return look(file.url)
    try:
        system = _system_of(file.url.partition("://")[0])

        def read(begin: int, end: int) -> bytes:
            data: bytes = system.cat_file(file.url, start=begin, end=end)
            return data if len(data) <= end - begin else data[begin:end]

        return look_at(file.url, file.size, read)
    except Exception as error:  # The task says in full what is wrong.
        return FirstLook(f"it cannot be read: {_first_line(error)}")


@cache
def _system_of(protocol: str) -> Any:
    return file_system(f"{protocol}://")


def _grouped(
    source: str, traces: Sequence[str], looks: Mapping[str, FirstLook]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield for each item its name, the folder that it is in, and its files."""
    sound = [url for url in traces if not looks[url].trouble]
    loose: dict[str, list[str]] = defaultdict(list)
    for place, urls in jobs_and_traces(source, sound, looks.__getitem__):
        if place != urls[0]:
            yield place, place, urls
        else:
            loose[os.path.dirname(place)].append(place)
    for folder, urls in loose.items():
        yield from _recordings(folder, urls, looks)
    for url in traces:
        if looks[url].trouble:
            yield url, os.path.dirname(url), [url]


def _recordings(
    folder: str, urls: Sequence[str], looks: Mapping[str, FirstLook]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the jobs among the files of one folder, by their names, and the rest."""
    names = {url: read_name(url, folder, looks[url].rank) for url in urls}
    waiting = list(urls)
    for fixed in _APART:
        groups: dict[str, list[str]] = defaultdict(list)
        for url in waiting:
            groups[names[url].pattern(fixed)].append(url)
        waiting = []
        for pattern, group in groups.items():
            if len(group) > 1 and is_job(folder, group, looks.__getitem__):
                yield os.path.join(folder, pattern), folder, group
            else:
                waiting += group
    for url in waiting:
        yield url, folder, [url]


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def problem_of(skipped: Skipped) -> TraceError:
    """Return what could not be looked through as an error."""
    hint = "Check its permissions"
    return trace_error(skipped.path, "unreadable", skipped.why, hint)
