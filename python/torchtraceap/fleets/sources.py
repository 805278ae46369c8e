# SPDX-License-Identifier: BSD-3-Clause
"""sources.py: finds the traces and jobs of a fleet: in folders, by patterns, behind
URLs.

Everything that looks like a trace by its name is listed, and the first 64 KiB of each
are read, of a URL with a range request: they tell which files are ranks of one job.
"""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from itertools import takewhile
from typing import Any

from torchtraceap.base.errors import ConfigError, TraceError, trace_error
from torchtraceap.data.source import (
    ENDINGS,
    RankPaths,
    Skipped,
    is_of_ranks,
    natural,
    source_of,
)
from torchtraceap.fleets.items import (
    FleetFile,
    Item,
    below,
    item_of,
    program_of,
)
from torchtraceap.fleets.urls import (
    first_line,
    is_url,
    place_of,
    public_url,
    store_of,
    system_and_path,
)
from torchtraceap.ranks.file_names import read_name
from torchtraceap.ranks.first_look import NO_TRACE, FirstLook, look, look_at
from torchtraceap.ranks.jobs_below import common_folder, is_job, jobs_and_traces

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
    system: Any = None  # fsspec's, of URLs.
    paths: Mapping[str, str] = field(default_factory=dict)  # What it calls them.


def find_items(
    sources: Sequence[str], path: re.Pattern[str] | None = None, out: str = ""
) -> Found:
    """Find the traces and jobs in folders, files, patterns and URLs, without the files
    below the folder ``out``.

    ``path`` has groups of `items.LABELS`. Raises TraceError for a source that is not
    there, cannot be listed, or needs a package that is not installed; ConfigError if
    ``path`` matches none of them.
    """
    found = Found()
    known: dict[str, FleetFile] = {}
    looks: dict[str, FirstLook] = {}
    traces: dict[str, list[str]] = {}  # By their source.
    named: dict[str, list[str]] = defaultdict(list)  # Those that the caller named.
    for text in sources:
        if is_url(text):
            scheme, _, rest = text.partition("://")
            listing = _remote(f"{scheme.lower()}://{rest}")
        else:
            listing = _local(text, found.skipped)
        for url, file in listing.files.items():
            _refuse_another(known.get(url), file)
        files = [
            file
            for url, file in listing.files.items()
            if url not in known and not (out and url.startswith(f"{out}{os.sep}"))
        ]
        for file, first in _looks(listing, files):
            if first.trouble == NO_TRACE and not listing.is_exact:
                found.others += 1
                continue
            is_gzipped = first.is_gzipped
            if first.trouble:
                is_gzipped = place_of(file.url).lower().endswith(".gz")
            known[file.url] = replace(file, is_gzipped=is_gzipped)
            looks[file.url] = first
            if listing.is_exact:
                named[store_of(file.url)].append(file.url)
            else:
                traces.setdefault(listing.source, []).append(file.url)
    of_source = [*traces.items()]
    of_source += [(common_folder([*map(place_of, of)]), of) for of in named.values()]
    made = [
        (source, item_of(name, [known[url] for url in urls], top, source, path))
        for source, urls_of_source in of_source
        for name, top, urls in _grouped(urls_of_source, looks)
    ]
    if path is not None and made and not any(item.fixed for _, item in made):
        raise ConfigError(
            f"path {path.pattern!r}: names nothing, as in {made[0][1].files[0].url}. "
            "Try it on that path."
        )
    found.items += _told_apart(made)
    # So that a part of the data set is of few days.
    found.items.sort(
        key=lambda i: ((i.name_time or i.time_of_file).timestamp(), natural(i.url))
    )
    return found


def _told_apart(made: Sequence[tuple[str, Item]]) -> Iterator[Item]:
    """Put the name of the source before programs that several sources have."""
    parent = common_folder([f"{source}/" for source, _ in made])
    names = {
        source: program_of(below(source, parent).replace("://", "/"))
        for source, _ in made
    }
    having: dict[str, set[str]] = defaultdict(set)
    for source, item in made:
        if "program" not in item.fixed:
            having[dict(item.labels)["program"]].add(names[source])
    for source, item in made:
        labels = dict(item.labels)
        program, name = labels["program"], names[source]
        if "program" not in item.fixed and len(having[program]) > 1 and name:
            labels["program"] = f"{name}/{program}"
            item = replace(item, labels=tuple(labels.items()))
        yield item


def _local(text: str, skipped: list[Skipped]) -> _Listing:
    if not text:
        hint = "Give a folder, a file, a pattern or a URL"
        raise trace_error(repr(text), "missing", "the path is empty", hint)
    is_exact = not is_of_ranks(text)
    source = os.path.abspath(text)
    paths: Sequence[str] = [source]
    if not is_exact:
        listed = source_of(source)
        assert isinstance(listed, RankPaths)
        skipped += listed.skipped
        paths = listed.paths
        if not os.path.isdir(source):
            source = _before(source, glob.has_magic)
    files = {}
    for path in paths:
        try:
            state = os.stat(path)
        except (OSError, ValueError) as error:  # ValueError: a NUL byte.
            why = getattr(error, "strerror", None) or str(error)
            if is_exact:
                hint = "Check the path and its read permission"
                raise trace_error(text, "missing", why, hint) from error
            skipped.append(Skipped(path, f"it cannot be read: {why}"))
            continue
        stamp = str(state.st_mtime_ns)
        files[path] = FleetFile(path, state.st_size, stamp, state.st_mtime)
    return _Listing(source, files, is_exact)


def _before(pattern: str, has_magic: Callable[[str], bool]) -> str:
    """Return the folder of a pattern that is there whatever matches it."""
    parts = pattern.split("/")
    return "/".join(takewhile(lambda part: not has_magic(part), parts))


def _remote(text: str) -> _Listing:
    system, given = system_and_path(text)
    magic = "*[" if text.startswith(("http://", "https://")) else "*?["

    def has_magic(part: str) -> bool:
        return any(c in part for c in magic)

    def is_named(path: str) -> bool:
        return place_of(path).lower().endswith(ENDINGS)

    is_exact = is_pattern = False
    try:
        system.invalidate_cache()
        if is_pattern := has_magic(place_of(given)):
            listed = system.glob(given, detail=True)
        elif is_exact := is_named(given) and system.isfile(given):
            listed = {given: system.info(given)}
        else:
            listed = system.find(given, detail=True)
            if not listed and not system.exists(given):
                raise FileNotFoundError("it is not there")
        listed = {
            path: info
            for path, info in listed.items()
            if info.get("type") != "directory" and is_named(path)
        }
        if any(info.get("size") is None for info in listed.values()):  # Of a web page.
            with ThreadPoolExecutor(_LOOKERS) as askers:
                infos = list(askers.map(system.info, listed))
            listed = dict(zip(listed, infos, strict=True))
    except Exception as error:  # Of any store's library, from a network.
        if not is_pattern and is_named(given):  # Its task says why, and others go on.
            return _listing_of(text, system, given, {given: {}}, True)
        cause = f"it cannot be listed ({first_line(error)})"
        hint = "Check the URL, the credentials and the network"
        raise trace_error(public_url(text), "unreachable", cause, hint) from error
    source = _before(text, has_magic) if is_pattern else text.rstrip("/")
    return _listing_of(text, system, given, listed, is_exact, source)


def _listing_of(
    text: str,
    system: Any,
    given: str,
    listed: Mapping[str, Mapping[str, Any]],
    is_exact: bool,
    source: str = "",
) -> _Listing:
    files: dict[str, FleetFile] = {}
    paths: dict[str, str] = {}
    for path, info in listed.items():
        file = _file_of(_url_of(path, system, text, given), info)
        _refuse_another(files.get(file.url), file)
        files[file.url], paths[file.url] = file, path
    return _Listing(public_url(source or text), files, is_exact, system, paths)


def _url_of(path: str, system: Any, text: str, given: str) -> str:
    """Return the URL of a file in what ``text`` names, which is ``given`` to the file
    system: with its host, which some forget."""
    base, whole = given.rstrip("/"), text.rstrip("/")
    if base and whole.endswith(base):
        return f"{whole.removesuffix(base)}{path}"
    if base or not text.partition("://")[2].strip("/"):
        return str(system.unstrip_protocol(path))
    return f"{whole}/{path.lstrip('/')}"


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
    public = public_url(url)
    secret = url if url != public else ""
    size = int(info.get("size") or 0)
    return FleetFile(public, size, stamp, modified, secret_url=secret)


def _refuse_another(one: FleetFile | None, other: FleetFile) -> None:
    """Raise TraceError if two files have one public URL."""
    if one is None or one.secret_url == other.secret_url:
        return
    if (one.size, one.stamp) != (other.size, other.stamp):
        cause = "two files differ only by what gives access to them"
        hint = "Copy them to a folder, and give that"
        raise trace_error(one.url, "same_url", cause, hint)


def _looks(
    listing: _Listing, files: Sequence[FleetFile]
) -> Iterator[tuple[FleetFile, FirstLook]]:
    """Yield each file with what its beginning tells."""

    def look_of(file: FleetFile) -> FirstLook:
        if listing.system is None:
            return look(file.url)
        path = listing.paths[file.url]

        def read(begin: int, end: int) -> bytes:
            data: bytes = listing.system.cat_file(path, start=begin, end=end)
            return data if len(data) <= end - begin else data[begin:end]

        try:
            return look_at(place_of(path), file.size, read)
        except Exception as error:  # The task says in full what is wrong.
            return FirstLook(f"it cannot be read: {first_line(error)}")

    with ThreadPoolExecutor(_LOOKERS) as lookers:
        yield from zip(files, lookers.map(look_of, files), strict=True)


def _grouped(
    traces: Sequence[str], looks: Mapping[str, FirstLook]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield for each item its name, the folder that it is in, and its files."""
    alone = [url for url in traces if looks[url].trouble]
    urls: dict[str, str] = {}  # By their places.
    for url in traces:
        if not looks[url].trouble and urls.setdefault(place_of(url), url) != url:
            alone.append(url)  # The same of the web with another query.
    of_places = {place: looks[url] for place, url in urls.items()}
    loose: dict[str, list[str]] = defaultdict(list)
    for place, files in jobs_and_traces([*urls], of_places.__getitem__):
        if place != files[0]:
            yield place, place, [urls[file] for file in files]
        else:
            loose[common_folder(files)].append(place)
    for folder, places in loose.items():
        for name, files in _recordings(folder, places, of_places):
            found = [urls[file] for file in files]
            yield name if found[1:] else found[0], folder, found
    for url in alone:
        yield url, common_folder([place_of(url)]), [url]


def _recordings(
    folder: str, places: Sequence[str], looks: Mapping[str, FirstLook]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the jobs among the files of one folder, by their names, and the rest."""
    names = {place: read_name(place, folder, looks[place].rank) for place in places}
    waiting = list(places)
    for fixed in _APART:
        groups: dict[str, list[str]] = defaultdict(list)
        for place in waiting:
            groups[names[place].pattern(fixed)].append(place)
        waiting = []
        for pattern, group in groups.items():
            if is_job(folder, group, looks.__getitem__):
                yield f"{folder}{os.sep}{pattern}", group
            else:
                waiting += group
    for place in waiting:
        yield place, [place]


def problem_of(skipped: Skipped) -> TraceError:
    """Return what could not be looked through as an error."""
    hint = "Check that it is there, and its permissions"
    return trace_error(skipped.path, "unreadable", skipped.why, hint)
