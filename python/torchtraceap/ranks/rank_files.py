# SPDX-License-Identifier: BSD-3-Clause
"""rank_files.py: from what a user names to the files of the ranks of one job."""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from torchtraceap.base.arguments import checked_int
from torchtraceap.ranks.candidates import Candidate, candidates_of, trace_error
from torchtraceap.ranks.file_names import axes_text, natural, ranks_of_axes
from torchtraceap.ranks.first_look import MOST_RANKS
from torchtraceap.ranks.recordings import (
    FILE,
    GIVEN,
    LOCAL_NAME,
    NAME,
    UNKNOWN,
    RankFile,
    RankFiles,
    Recording,
)

#: A folder, a glob, a list of paths, or the path of each rank.
RankSource = (
    str
    | os.PathLike[str]
    | Iterable[str | os.PathLike[str]]
    | Mapping[int, str | os.PathLike[str]]
)

_NAMED = 8  # Of more recordings, how many there are.
# What may tell the recordings of a folder apart, if their names are alike otherwise:
# replicas that count their ranks from 0, cycles with a stamp that all ranks share, and
# programs of one process.
_APART: tuple[tuple[str, ...], ...] = ((), ("DP",), ("stamp",), ("process", "stamp"))


def find_ranks(source: RankSource) -> RankFiles:
    """Find the traces of a job: those below a folder, those of a glob, or a list.

    All of them are one recording. A mapping {0: path, 1: path} gives the ranks.

    Reads at most 64 KiB at both ends of each file (1 MiB where the header is longer).
    What only the loader sees is put right by `settle`.

    Raises TraceError if nothing is there, nothing there is a trace, two files are of
    one rank or of jobs of different sizes: of a folder with several recordings it names
    what to pass for each. TypeError for another source.
    """
    found = candidates_of(source)
    given = _given(source) if isinstance(source, Mapping) else {}
    alike: dict[str, list[Candidate]] = defaultdict(list)
    for trace in found.traces:
        alike[trace.name.pattern()].append(trace)
    files = {
        trace.path: _rank_file(trace, given.get(trace.path), of_axes)
        for group in alike.values()
        for trace, of_axes in zip(
            group, ranks_of_axes([trace.name.axes for trace in group]), strict=True
        )
    }
    name = "the list" if found.is_list else "*"
    if len(alike) == 1 and not found.is_list:
        (name,) = alike
    choice = "" if found.is_list else _choice(found.traces, files, found.top)
    recording = Recording.of(name, files.values(), choice)
    return RankFiles(found.source, recording, found.skipped, choice=choice)


def _choice(
    traces: Sequence[Candidate], files: Mapping[str, RankFile], top: str
) -> str:
    """Say which recordings files may be of, by their names; "" if those tell none."""
    for fixed in _APART:
        groups: dict[str, list[RankFile]] = defaultdict(list)
        for trace in traces:
            groups[trace.name.pattern(fixed)].append(files[trace.path])
        if len(groups) > 1 and _are_recordings(list(groups.values())):
            break
    else:
        return ""
    names = [
        f"{_glob(top, name, group)!r} ({len(group)} file{'s' if group[1:] else ''})"
        for name, group in sorted(groups.items(), key=lambda item: natural(item[0]))
    ]
    if more := len(names) - _NAMED:
        names[_NAMED:] = [f"{more} more"] if more > 0 else []
    return f"If these are several recordings, pass one of them: {', '.join(names)}"


def _are_recordings(groups: Sequence[Sequence[RankFile]]) -> bool:
    """Tell whether each group can be a recording: each rank once, of one job."""
    for group in groups:
        ranks = [file.rank for file in group]
        if len(set(ranks)) < len(ranks):
            return False
        if len({file.world_size for file in group} - {None}) > 1:
            return False
    # Files one by one are recordings of their own only if none is beside another rank.
    ranks = [file.rank for group in groups for file in group]
    return len(groups) < len(ranks) or len(set(ranks)) == 1


def _glob(top: str, pattern: str, group: Sequence[RankFile]) -> str:
    if len(group) == 1:
        return group[0].path
    return os.path.join(glob.escape(top), pattern)


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
