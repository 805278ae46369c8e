# SPDX-License-Identifier: BSD-3-Clause
"""jobs_below.py: the jobs among traces, by their folders."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence

from torchtraceap.data.source import RankPaths
from torchtraceap.ranks.first_look import look
from torchtraceap.ranks.rank_files import Look, find_ranks


def jobs_and_traces(
    traces: Sequence[str], look: Look = look
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the common folder of the files of each job with its traces, and each other
    trace with itself.

    The traces are absolute paths, or keys of a store: ``a//b`` and ``a/b`` differ. A
    file is looked at once for each level at which folders branch.
    """
    waiting: list[Sequence[str]] = [list(dict.fromkeys(traces))] if traces else []
    while waiting:
        files = waiting.pop()
        folder = common_folder(files)
        if is_job(folder, files, look):
            yield folder, files
            continue
        if len(files) == 1:
            yield files[0], files
            continue
        inside: dict[str, list[str]] = defaultdict(list)
        start = 0 if folder == os.sep else len(folder)
        for path in files:
            below = path.find(os.sep, start + 1)
            # With its separator: an object of a store may be called as a folder is.
            inside[path[: below + 1] if below >= 0 else path].append(path)
        waiting += reversed(inside.values())


def common_folder(paths: Sequence[str]) -> str:
    """Return the innermost folder that has all of some absolute paths or URLs below it,
    as it is spelled in them."""
    # By characters: os.path.commonpath takes a//b for a/b.
    prefix = os.path.commonprefix(paths)  # noqa: RUF071
    return prefix[: prefix.rfind(os.sep)] or os.sep


def is_job(folder: str, traces: Sequence[str], look: Look = look) -> bool:
    """Tell whether the files of a folder are of the ranks of one job, as far as names
    and the beginnings of files tell."""
    if len(traces) < 2:
        return False
    try:
        files = find_ranks(RankPaths(folder, tuple(traces), folder), look)
    except Exception:  # Whatever is odd with names: each file is analyzed by itself.
        return False
    return len(files.recording.files) > 1 and files.recording.has_ranks
