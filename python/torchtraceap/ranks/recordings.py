# SPDX-License-Identifier: BSD-3-Clause
"""recordings.py: the files of one recording, their ranks as far as they are known
before and after the files are loaded, and notes on them for readers."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from torchtraceap._core import Note, TraceFacts
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.units import time_text
from torchtraceap.data.source import Skipped, natural
from torchtraceap.ranks.first_look import sensible_rank

#: Where a rank is from, the surest first.
GIVEN, FILE, NAME, LOCAL_NAME, UNKNOWN = "given", "file", "name", "local name", ""

_MANY = 8  # Of more stretches of ranks, how many there are.
# Ranks of one recording begin within this, whatever their clocks are set to.
_APART_US = 60e6
# How a rank is known that the file itself does not tell.
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
    name_rank: int | None = None  #: The rank in the name; None if local, or none.
    odd_rank: str = ""  #: Why the rank in the file is invalid; "" if it is valid.


@dataclass(frozen=True)
class Recording:
    """The files of one recording: at most one of each rank, by rank."""

    #: The files below the source, * for what differs from rank to rank:
    #: "iteration_10/rank*_trace.json.gz".
    name: str
    files: tuple[RankFile, ...]
    world_size: int | None  #: None: no file tells.

    @classmethod
    def of(cls, name: str, files: Iterable[RankFile], choice: str = "") -> Recording:
        """Return the recording of files in any order.

        Raises TraceError if two files are of one rank, or of jobs of different sizes;
        it ends with ``choice``, the recordings to choose from, if there is one.
        """
        by_rank = sorted(
            files, key=lambda f: (f.rank is None, f.rank or 0, natural(f.path))
        )
        for first, file in pairwise(by_rank):
            if file.rank is not None and file.rank == first.rank:
                raise _rank_clash(first, file, choice)
        sized = [file for file in by_rank if file.world_size is not None]
        for file in sized:
            if file.world_size != sized[0].world_size:
                raise _other_job(sized[0], file, choice)
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
    def has_ranks(self) -> bool:
        """Every file has a rank."""
        return all(file.rank is not None for file in self.files)

    @property
    def complete(self) -> bool:
        """Every rank is known and has its file."""
        return not self.missing and self.has_ranks


@dataclass(frozen=True)
class RankFiles:
    """The traces of a job."""

    source: str  #: As given; "the list" for several paths.
    recording: Recording
    is_list: bool = False  #: The caller named each file.
    order: tuple[str, ...] = ()  #: Of a list that gives no ranks: its paths as given.
    skipped: tuple[Skipped, ...] = ()  #: Files that may look like traces, and are none.
    apart: tuple[Note, ...] = ()  #: On files recorded at another time; see `settle`.
    choice: str = ""  #: What to do if these are several recordings, for errors.

    @property
    def alone(self) -> str | None:
        """The only trace of a folder or glob, unless it is of a larger job."""
        files = self.recording.files
        if self.is_list or files[1:] or self.recording.world_size not in (None, 1):
            return None
        return files[0].path

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the ranks, and on files that were left out."""
        return (
            *_rank_notes(self.recording),
            *self.apart,
            *_skipped_notes(self.skipped),
        )


def settle(files: RankFiles, facts: Sequence[TraceFacts]) -> RankFiles:
    """Put the ranks right by what was loaded: ``facts`` of each of
    ``files.recording.files``, in that order.

    The result is in order of rank. Its notes say what is missing and what was recorded
    at another time. Raises TraceError if two files are of one rank, jobs of different
    sizes are mixed, or a file has no rank and is not alone.
    """
    told = [
        settled(file, fact)
        for file, fact in zip(files.recording.files, facts, strict=True)
    ]
    recording = Recording.of(files.recording.name, told, files.choice)
    if len(told) > 1:
        for file in told:
            if file.rank is None:
                raise _no_rank(file, files.choice)
    return replace(files, recording=recording, apart=tuple(_apart(told, facts)))


def settled(file: RankFile, facts: TraceFacts) -> RankFile:
    """Put one file's rank right by what was loaded of it."""
    rank, size, odd = sensible_rank(facts.rank, facts.world_size)
    size = file.world_size if size is None else size
    if rank is None or file.rank_from == GIVEN:
        return replace(file, world_size=size, odd_rank=odd)
    return replace(file, rank=rank, rank_from=FILE, world_size=size, odd_rank=odd)


def _rank_clash(first: RankFile, file: RankFile, choice: str) -> TraceError:
    hint = choice or "Name the files of one recording, each rank once"
    if LOCAL_NAME in (first.rank_from, file.rank_from):
        hint = (
            "Their names count ranks from 0 on every node: give the ranks, "
            f"analyze({{{file.rank}: {first.path!r}, ...}})"
            + (f". {choice}" if choice else "")
        )
    cause = f"it is of rank {file.rank}, and so is {first.path}"
    return trace_error(file.path, "rank_clash", cause, hint)


def _other_job(one: RankFile, other: RankFile, choice: str) -> TraceError:
    cause = (
        f"it is of a job of {other.world_size} ranks, and {one.path} of one of "
        f"{one.world_size}"
    )
    hint = choice or "Name the files of one job"
    return trace_error(other.path, "other_job", cause, hint)


def _no_rank(file: RankFile, choice: str) -> TraceError:
    cause = "neither its distributedInfo nor its name tells its rank"
    hint = choice or (
        "Give the ranks, analyze({0: 'first.json', 1: 'second.json'}), or call the "
        "files rank0.json, rank1.json; torch.profiler writes the rank if "
        "torch.distributed is initialized before it starts"
    )
    return trace_error(file.path, "no_rank", cause, hint)


def _apart(files: Sequence[RankFile], facts: Sequence[TraceFacts]) -> list[Note]:
    """Say which files begin so far from the others that they share no time."""
    starts = [file.start_us for file in files if file.start_us is not None]
    if len(starts) < 2:
        return []
    usual = statistics.median_low(starts)
    longest = max(fact.span_us for fact in facts)
    far = [
        file
        for file in files
        if file.start_us is not None
        and abs(file.start_us - usual) > max(longest, _APART_US)
    ]
    if not far:
        return []
    away = max(abs((file.start_us or 0) - usual) for file in far)
    more = f" and {len(far) - 1} more" if far[1:] else ""
    text = (
        f"{far[0].path}{more}: recorded {time_text(away)} before or after the others, "
        "as far as the clocks tell. If it is of another run, leave it out."
    )
    return [Note("other_time", len(far), text)]


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
            f"{len(missing)}{of} ranks have no file: {ranks_text(missing)}. The "
            "others' waits for them are unknown."
        )
        notes.append(Note("ranks_missing", len(missing), text))
    return notes


def _skipped_notes(skipped: Sequence[Skipped]) -> list[Note]:
    if not skipped:
        return []
    texts = [f"{one.path} ({one.why})" for one in skipped[:3]]
    if more := len(skipped) - len(texts):
        texts.append(f"{more} more")
    return [Note("skipped_files", len(skipped), f"Not read: {', '.join(texts)}.")]
