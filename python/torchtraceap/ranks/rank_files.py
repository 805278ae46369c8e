# SPDX-License-Identifier: BSD-3-Clause
"""rank_files.py: from what a user names to the files of one recording of one job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from torchtraceap.base.arguments import checked_int
from torchtraceap.ranks.candidates import Candidate, candidates_of, trace_error
from torchtraceap.ranks.file_names import axes_text, natural, ranks_of_axes
from torchtraceap.ranks.first_look import MOST_RANKS
from torchtraceap.ranks.grouping import in_recordings
from torchtraceap.ranks.recordings import (
    FILE,
    GIVEN,
    LOCAL_NAME,
    NAME,
    UNKNOWN,
    RankFile,
    RankFiles,
    Recording,
    names_text,
    refuse_clash,
)

#: A folder, a glob, a list of paths, or the path of each rank.
RankSource = (
    str
    | os.PathLike[str]
    | Iterable[str | os.PathLike[str]]
    | Mapping[int, str | os.PathLike[str]]
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
    given = _given(source) if isinstance(source, Mapping) else {}
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


def _given(source: Mapping[int, str | os.PathLike[str]]) -> dict[str, int]:
    given: dict[str, int] = {}
    for rank, path in source.items():
        number = checked_int("a rank in source", rank, 0, MOST_RANKS - 1)
        other = given.setdefault(os.fsdecode(path), number)
        if other != number:
            cause = f"it is given as rank {other} and as rank {number}"
            hint = "Name a file for each rank"
            raise trace_error(os.fsdecode(path), "rank_clash", cause, hint)
    return given


def _recording(
    name: str, files: Sequence[Candidate], given: Mapping[str, int]
) -> Recording:
    by_axes = ranks_of_axes([file.name.axes for file in files])
    return Recording.of(
        name,
        [
            _rank_file(file, given.get(file.path), of_axes)
            for file, of_axes in zip(files, by_axes, strict=True)
        ],
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


def _fullness(recording: Recording) -> tuple[bool, bool, int]:
    count = len(recording.files)
    return count > 1, recording.complete, count


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
        return max(reversed(recordings), key=_fullness)
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
    hint = f"There are {names_text(recordings)}"
    raise trace_error(source, "recording", cause, hint)
