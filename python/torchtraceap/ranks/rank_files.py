# SPDX-License-Identifier: BSD-3-Clause
"""rank_files.py: from what a user names to the files of one recording of one job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torchtraceap.base.errors import TraceError
from torchtraceap.data.facts import Note
from torchtraceap.ranks.candidates import (
    Candidate,
    Skipped,
    candidates_of,
    trace_error,
)
from torchtraceap.ranks.file_names import axes_text, natural, ranks_of_axes
from torchtraceap.ranks.grouping import in_recordings

#: A folder, a glob, a list of paths, or the path of each rank.
RankSource = (
    str
    | os.PathLike[str]
    | Iterable[str | os.PathLike[str]]
    | Mapping[int, str | os.PathLike[str]]
)

#: Where a rank is from, the surest first.
GIVEN, FILE, NAME, LOCAL_NAME, UNKNOWN = "given", "file", "name", "local name", ""


@dataclass(frozen=True)
class RankFile:
    """The file of one rank."""

    path: str
    rank: int | None  #: None: nothing tells; the file may, once it is loaded.
    #: "given" by the caller, told by the "file" (distributedInfo), by its "name", by a
    #: "local name" that counts from 0 on every node, or "".
    rank_from: str = UNKNOWN
    world_size: int | None = None  #: As the file tells.
    start_us: float | None = None  #: Of one of its first events, on the file's clock.
    host: str = ""  #: Where it was recorded; "" if it does not tell.
    label: str = ""  #: What the name calls the rank beside its number: "TP 1, PP 0".
    name_rank: int | None = None  #: The rank in the name; None if local, or none.
    odd_rank: str = ""  #: Why what the file tells is no rank; "" if it is one.


@dataclass(frozen=True)
class Recording:
    """The files of one recording: at most one of each rank, by rank."""

    #: The files below the source, * for what differs from rank to rank:
    #: "iteration_10/rank*_trace.json.gz"; "#2" behind it is the second cycle.
    name: str
    files: tuple[RankFile, ...]
    world_size: int | None  #: None: no file tells.

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks without a file: of the world size, else below the highest rank."""
        have = {file.rank for file in self.files}
        highest = max((rank for rank in have if rank is not None), default=-1)
        return tuple(set(range(self.world_size or highest + 1)) - have)

    @property
    def complete(self) -> bool:
        """Every rank is known and has its file."""
        return not self.missing and all(f.rank is not None for f in self.files)


@dataclass(frozen=True)
class RankFiles:
    """What to analyze of what was named, and what else there is."""

    source: str  #: As given; "the list" for several paths.
    recording: Recording  #: The one to analyze.
    others: tuple[Recording, ...] = ()  #: Those that are left, in order of time.
    skipped: tuple[Skipped, ...] = ()  #: Files that may look like traces, and are none.
    apart: tuple[Note, ...] = ()  #: What was recorded at another time; see `settle`.

    @property
    def single(self) -> bool:
        """There is one file: it can be analyzed as any trace is."""
        return len(self.recording.files) == 1

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know of the ranks and of the choice."""
        return (
            *_rank_notes(self.recording),
            *self.apart,
            *_other_notes(self.recording, self.others),
            *_skipped_notes(self.skipped),
        )


def find_ranks(source: RankSource, recording: str | None = None) -> RankFiles:
    """Find the traces of a job: those below a folder, those of a glob, or a list.

    A folder or glob may hold several recordings (iteration_10 and iteration_20, cycles
    of one profiler, EXTEND and DECODE). The last complete one is taken, of the most
    ranks; ``recording`` names another: by its `Recording.name`, a pattern for it, or
    its folder. A list is one recording. A mapping {0: path, 1: path} gives the ranks.

    Reads at most 64 KiB at both ends of each file (1 MiB where the header is longer).
    What only the loader sees is put right by `settle`.

    Raises TraceError if nothing is there, nothing there is a trace, two files are of
    one rank, or ``recording`` names none; TypeError for another source.
    """
    found = candidates_of(source)
    given = (
        {os.fspath(p): r for r, p in source.items()}
        if isinstance(source, Mapping)
        else {}
    )
    groups = (
        {"the list": found.traces}
        if found.is_list
        else in_recordings(found.traces, found.top)
    )
    every = [_recording(name, files, given) for name, files in groups.items()]
    every = _by_time(every)
    chosen = _chosen(every, found.source, recording)
    others = tuple(one for one in every if one is not chosen)
    refuse_clash(chosen.files)
    return RankFiles(found.source, chosen, others, found.skipped)


def refuse_clash(files: Sequence[RankFile]) -> None:
    """Raise TraceError if two files are of one rank: none of them is the better one."""
    seen: dict[int, RankFile] = {}
    for file in files:
        if file.rank is None:
            continue
        first = seen.setdefault(file.rank, file)
        if first is file:
            continue
        sources = {one.rank_from for one in (first, file)}
        hint = (
            "Their names count ranks from 0 on every node: give the ranks, "
            f"analyze({{{file.rank}: {first.path!r}, ...}})"
            if LOCAL_NAME in sources
            else "Name the files of one recording, each rank once"
        )
        raise trace_error(
            file.path,
            "rank_clash",
            f"it is of rank {file.rank}, and so is {first.path}",
            hint,
        )


def ranks_text(ranks: Iterable[int]) -> str:
    """Write ranks as people do: "0, 2 to 5 and 7"."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts: list[str] = []
    for run in runs:
        if len(run) > 2:
            parts.append(f"{run[0]} to {run[-1]}")
        else:
            parts.extend(map(str, run))
    if len(parts) > _MANY:
        parts[_MANY:] = [f"{len(parts) - _MANY} more stretches"]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


# More names or stretches are a number.
_MANY = 8
# What a rank rests on that the file does not tell.
_NOT_TOLD = (
    (NAME, "rank_by_name", "the rank is the name's, the file tells none."),
    (
        LOCAL_NAME,
        "rank_by_local_name",
        "the rank is the local rank in the name, which is the rank on one node alone: "
        "the file tells none.",
    ),
)


def _recording(
    name: str, files: Sequence[Candidate], given: Mapping[str, int]
) -> Recording:
    by_axes = ranks_of_axes([file.name.axes for file in files])
    ranks = [
        _rank_file(file, given.get(file.path), of_axes)
        for file, of_axes in zip(files, by_axes, strict=True)
    ]
    ranks.sort(key=lambda f: (f.rank is None, f.rank or 0, natural(f.path)))
    sizes = {file.world_size for file in ranks} - {None}
    if len(sizes) > 1:
        one, other = (
            next(file for file in ranks if file.world_size == size)
            for size in sorted(sizes)[:2]  # type: ignore[type-var]
        )
        raise other_job(one, other)
    return Recording(name, tuple(ranks), next(iter(sizes), None))


def other_job(one: RankFile, other: RankFile) -> TraceError:
    """Return the error for files whose jobs are not of one size."""
    return trace_error(
        other.path,
        "other_job",
        f"it is of a job of {other.world_size} ranks, and {one.path} of one of "
        f"{one.world_size}",
        "Name the files of one job",
    )


def _rank_file(file: Candidate, given: int | None, of_axes: int | None) -> RankFile:
    name = file.name
    by_name = LOCAL_NAME if name.rank_is_local else NAME
    told = (
        (given, GIVEN),
        (file.first.rank, FILE),
        (name.rank, by_name),
        (of_axes if name.axes else None, NAME),
    )
    rank, rank_from = next(((r, f) for r, f in told if r is not None), (None, UNKNOWN))
    return RankFile(
        file.path,
        rank,
        rank_from,
        file.first.world_size,
        file.first.start_us,
        file.first.host,
        axes_text(name.axes),
        None if name.rank_is_local else name.rank,
        file.first.odd_rank,
    )


def _by_time(recordings: list[Recording]) -> list[Recording]:
    starts = {
        one.name: min(
            (f.start_us for f in one.files if f.start_us is not None), default=None
        )
        for one in recordings
    }
    if None in starts.values():
        return sorted(recordings, key=lambda one: natural(one.name))
    return sorted(recordings, key=lambda one: (starts[one.name], natural(one.name)))


def _chosen(
    recordings: Sequence[Recording], source: str, wanted: str | None
) -> Recording:
    """Return the recording that is wanted, else the last of the fullest."""
    if wanted is None:
        most = max((one.complete, len(one.files)) for one in recordings)
        return [o for o in recordings if (o.complete, len(o.files)) == most][-1]
    exact = [one for one in recordings if one.name == wanted]
    inside = wanted.strip("/") + "/"
    meant = exact or [
        one
        for one in recordings
        if fnmatchcase(one.name, wanted) or one.name.startswith(inside)
    ]
    if len(meant) == 1:
        return meant[0]
    cause = (
        f"{len(meant)} recordings are called {wanted!r}"
        if meant
        else f"no recording is called {wanted!r}"
    )
    hint = f"There are {_names_text(recordings)}"
    raise trace_error(source, "recording", cause, hint)


def _names_text(recordings: Sequence[Recording]) -> str:
    names = [
        f"{one.name} ({len(one.files)} file{'s' if one.files[1:] else ''})"
        for one in recordings[:_MANY]
    ]
    if more := len(recordings) - len(names):
        names.append(f"{more} more")
    return ", ".join(names)


def _rank_notes(recording: Recording) -> list[Note]:
    """Say what ranks rest on, where that is not what the files themselves tell."""
    notes = []
    for rank_from, kind, text in _NOT_TOLD if recording.files[1:] else ():
        if files := [f for f in recording.files if f.rank_from == rank_from]:
            more = f" (and {len(files) - 1} more)" if files[1:] else ""
            notes.append(Note(kind, len(files), f"{files[0].path}{more}: {text}"))
    for file in recording.files:
        if file.odd_rank:
            notes.append(Note("odd_rank", 1, f"{file.path}: {file.odd_rank}."))
        if file.name_rank not in (None, file.rank):
            text = f"its name says rank {file.name_rank}, but it is of rank {file.rank}"
            notes.append(Note("rank_name_differs", 1, f"{file.path}: {text}."))
    missing = recording.missing
    if missing and None not in {file.rank for file in recording.files}:
        of = f" of {recording.world_size}" if recording.world_size else ""
        text = (
            f"{len(missing)}{of} ranks have no file: {ranks_text(missing)}. What the "
            "others waited for on their account is not known."
        )
        notes.append(Note("ranks_missing", len(missing), text))
    return notes


def _other_notes(chosen: Recording, others: Sequence[Recording]) -> list[Note]:
    if not others:
        return []
    text = (
        f"{chosen.name} is analyzed, the last of the fullest recordings. There "
        f"{'are' if others[1:] else 'is'} also {_names_text(others)}."
    )
    return [Note("other_recordings", len(others), text)]


def _skipped_notes(skipped: Sequence[Skipped]) -> list[Note]:
    if not skipped:
        return []
    texts = [f"{one.path} ({one.why})" for one in skipped[:3]]
    if more := len(skipped) - len(texts):
        texts.append(f"{more} more")
    return [Note("skipped_files", len(skipped), f"Not read: {', '.join(texts)}.")]


def with_ranks(files: RankFiles, ranks: Sequence[RankFile]) -> RankFiles:
    """Return the same with other files in the recording, by rank."""
    ordered = sorted(
        ranks, key=lambda f: (f.rank is None, f.rank or 0, natural(f.path))
    )
    sizes = {file.world_size for file in ordered} - {None}
    size = next(iter(sizes), None)
    return replace(
        files,
        recording=replace(files.recording, files=tuple(ordered), world_size=size),
    )
