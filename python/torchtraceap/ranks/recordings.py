# SPDX-License-Identifier: BSD-3-Clause
"""recordings.py: the files of one recording, and what a reader should know of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from torchtraceap._core import Note
from torchtraceap.base.errors import TraceError
from torchtraceap.ranks.candidates import Skipped, trace_error
from torchtraceap.ranks.file_names import natural

#: Where a rank is from, the surest first.
GIVEN, FILE, NAME, LOCAL_NAME, UNKNOWN = "given", "file", "name", "local name", ""


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

    @classmethod
    def of(cls, name: str, files: Iterable[RankFile]) -> Recording:
        """Return the recording of files in any order; raises TraceError if they are of
        jobs of different sizes."""
        by_rank = sorted(
            files, key=lambda f: (f.rank is None, f.rank or 0, natural(f.path))
        )
        sized = [file for file in by_rank if file.world_size is not None]
        for file in sized:
            if file.world_size != sized[0].world_size:
                raise _other_job(sized[0], file)
        size = sized[0].world_size if sized else None
        return cls(name, tuple(by_rank), size)

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """Ranks without a file: of the world size, else below the highest rank."""
        have = {file.rank for file in self.files}
        highest = max((rank for rank in have if rank is not None), default=-1)
        every = range(self.world_size or highest + 1)
        return tuple(rank for rank in every if rank not in have)

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


def _other_job(one: RankFile, other: RankFile) -> TraceError:
    """Return the error for files whose jobs are not of one size."""
    return trace_error(
        other.path,
        "other_job",
        f"it is of a job of {other.world_size} ranks, and {one.path} of one of "
        f"{one.world_size}",
        "Name the files of one job",
    )


def names_text(recordings: Sequence[Recording]) -> str:
    """Write what recordings there are, with how many files."""
    names = [
        f"{one.name} ({len(one.files)} file{'s' if one.files[1:] else ''})"
        for one in recordings[:_MANY]
    ]
    if more := len(recordings) - len(names):
        names.append(f"{more} more")
    return ", ".join(names)


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
        f"{'are' if others[1:] else 'is'} also {names_text(others)}."
    )
    return [Note("other_recordings", len(others), text)]


def _skipped_notes(skipped: Sequence[Skipped]) -> list[Note]:
    if not skipped:
        return []
    texts = [f"{one.path} ({one.why})" for one in skipped[:3]]
    if more := len(skipped) - len(texts):
        texts.append(f"{more} more")
    return [Note("skipped_files", len(skipped), f"Not read: {', '.join(texts)}.")]
