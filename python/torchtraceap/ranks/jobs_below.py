# SPDX-License-Identifier: BSD-3-Clause
"""jobs_below.py: the jobs among the traces below a folder."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence

from torchtraceap.base.errors import TraceError
from torchtraceap.data.source import RankPaths
from torchtraceap.ranks.first_look import look
from torchtraceap.ranks.rank_files import Look, find_ranks


def jobs_and_traces(
    folder: str, traces: Sequence[str], look: Look = look
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the folder of each job with its traces, and each other trace with itself;
    of folders inside each other the outermost is the job's.

    A file is looked at once for each folder that it is in.
    """
    if is_job(folder, traces, look):
        yield folder, traces
        return
    inside: dict[str, list[str]] = defaultdict(list)
    for path in traces:
        part = os.path.relpath(path, folder).partition(os.sep)[0]
        inside[os.path.join(folder, part)].append(path)
    for place, files in inside.items():
        if place == files[0]:
            yield place, files
        else:
            yield from jobs_and_traces(place, files, look)


def is_job(folder: str, traces: Sequence[str], look: Look = look) -> bool:
    """Tell whether the files of a folder are of the ranks of one job, as far as names
    and the beginnings of files tell."""
    try:
        files = find_ranks(RankPaths(folder, tuple(traces), folder), look)
    except TraceError:
        return False
    return len(files.recording.files) > 1 and files.recording.has_ranks
