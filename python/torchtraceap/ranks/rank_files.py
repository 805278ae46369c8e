# SPDX-License-Identifier: BSD-3-Clause
"""rank_files.py: which files are traces, of which ranks, and whether of one job."""

from __future__ import annotations

import glob
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from torchtraceap.base.arguments import checked_int
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.data.source import ENDINGS, LIST, RankPaths, Skipped, natural
from torchtraceap.ranks.file_names import FileName, ranks_of_axes, read_name
from torchtraceap.ranks.first_look import MOST_RANKS, FirstLook, look
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

# Reading the beginning of many files waits for a disk or a network.
_READERS = 8
_NAMED = 8  # Of more recordings, how many there are.
# What may tell the recordings of a folder apart, if their names are alike otherwise:
# replicas that count their ranks from 0, cycles with a stamp that all ranks share, and
# programs of one process.
_APART: tuple[tuple[str, ...], ...] = ((), ("DP",), ("stamp",), ("process", "stamp"))


@dataclass(frozen=True)
class _Trace:
    """A file that can be a trace, by what its first bytes tell."""

    path: str
    name: FileName
    first: FirstLook


#: Returns the contents of the first bytes of a file.
Look = Callable[[str], FirstLook]


def find_ranks(source: RankPaths, look: Look = look) -> RankFiles:
    """Find the traces among files that are to be of one job, and their ranks.

    Reads at most 64 KiB at both ends of each file (1 MiB where the header is longer),
    by ``look``.
    What only the loader sees is put right by `settle`.

    Raises TraceError if none of them is a trace, or one that the caller named is not or
    is named twice; if two files are of one rank, or of jobs of different sizes: of a
    folder with several recordings it names what to pass for each.
    """
    given = _given(source.by_rank or {})
    for path, count in Counter(source.paths).items():
        if count > 1:
            hint = "Name the files of one recording, each once"
            raise trace_error(path, "rank_clash", "it is named twice", hint)
    skipped = list(source.skipped)
    traces = _traces(source, skipped, look)
    alike: dict[str, list[_Trace]] = defaultdict(list)
    for trace in traces:
        alike[trace.name.pattern()].append(trace)
    files = {
        trace.path: _rank_file(trace, given.get(trace.path), of_axes)
        for group in alike.values()
        for trace, of_axes in zip(
            group, ranks_of_axes([trace.name.axes for trace in group]), strict=True
        )
    }
    name, choice = LIST, ""
    if not source.is_list:
        name = next(iter(alike)) if len(alike) == 1 else "*"
        choice = _choice(traces, files, source.top)
    recording = Recording.of(name, files.values(), choice)
    order = source.paths if source.is_list and not given else ()
    return RankFiles(
        source.text, recording, source.is_list, order, tuple(skipped), choice=choice
    )


def trace_paths(source: RankPaths) -> tuple[list[str], list[Skipped]]:
    """Return the files that can be traces, of any job, and those that are left out.

    Raises TraceError if none of them can, or one that the caller named cannot.
    """
    skipped = list(source.skipped)
    return [trace.path for trace in _traces(source, skipped, look)], skipped


def _traces(source: RankPaths, skipped: list[Skipped], look: Look) -> list[_Trace]:
    """Return the files that can be traces; of a folder or glob, the rest is added to
    ``skipped``."""
    with ThreadPoolExecutor(_READERS) as readers:
        looks = list(readers.map(look, source.paths))
    traces = []
    for path, first in zip(source.paths, looks, strict=True):
        if not first.trouble:
            name = read_name(path, source.top, first.rank)
            traces.append(_Trace(path, name, first))
        elif source.is_list:
            hint = "Leave it out, or run `torchtraceap inspect` on it"
            raise trace_error(path, "not_a_trace", first.trouble, hint)
        else:
            skipped.append(Skipped(path, first.trouble))
    if not traces:
        raise _no_trace(source.text, skipped)
    # SGLang merges the files of all ranks into one beside them.
    merged = [
        one
        for one in traces
        if os.path.basename(one.path).lower().startswith("merged-")
    ]
    if len(merged) == len(traces):
        return traces
    skipped += [Skipped(one.path, "it is merged of the others") for one in merged]
    return [one for one in traces if one not in merged]


def _no_trace(source: str, skipped: Sequence[Skipped]) -> TraceError:
    named = ", ".join(f"{one.path} ({one.why})" for one in skipped[:3])
    more = f" and {len(skipped) - 3} more" if skipped[3:] else ""
    cause = f"no {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} is in it"
    if skipped:
        none = f"none of {len(skipped)} files is a trace"
        cause = f"{none if skipped[1:] else 'no trace is in it'}: {named}{more}"
    hint = "Name a trace, or the folder that the profiler wrote traces into"
    return trace_error(source, "no_traces", cause, hint)


def _choice(traces: Sequence[_Trace], files: Mapping[str, RankFile], top: str) -> str:
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
    if names[_NAMED:]:
        names[_NAMED:] = [f"{len(names) - _NAMED} more"]
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


def _given(by_rank: Mapping[int, str]) -> dict[str, int]:
    given: dict[str, int] = {}
    for rank, path in by_rank.items():
        number = checked_int("a rank in source", rank, 0, MOST_RANKS - 1)
        other = given.setdefault(path, number)
        if other != number:
            cause = f"it is given as rank {other} and as rank {number}"
            raise trace_error(path, "rank_clash", cause, "Name a file for each rank")
    return given


def _rank_file(file: _Trace, given: int | None, of_axes: int | None) -> RankFile:
    name = file.name
    by_name = LOCAL_NAME if name.rank_is_local else NAME
    sources = (
        (given, GIVEN),
        (file.first.rank, FILE),
        (name.rank, by_name),
        (of_axes if name.axes else None, NAME),
    )
    known = ((rank, rank_from) for rank, rank_from in sources if rank is not None)
    rank, rank_from = next(known, (None, UNKNOWN))
    return RankFile(
        file.path,
        rank,
        rank_from,
        file.first.world_size,
        file.first.start_us,
        None if name.rank_is_local else name.rank,
        file.first.odd_rank,
    )
