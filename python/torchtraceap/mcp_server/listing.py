# SPDX-License-Identifier: BSD-3-Clause
"""listing.py: the traces and jobs below a folder, as ``analyze`` recognizes them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from torchtraceap.base.errors import TraceError
from torchtraceap.data.source import RankPaths
from torchtraceap.ranks.first_look import look
from torchtraceap.ranks.rank_files import find_ranks


def rows_of(
    folder: str, paths: Sequence[str], go_on: Callable[[], object]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each job among files below a folder, and each other trace.

    Reads up to 2 MiB of each file (`look`), before which ``go_on`` is called and may
    raise. Raises OSError for one that is gone.
    """
    traces = []
    for path in paths:
        go_on()
        if not look(path).trouble:
            traces.append(path)
    for path, files in _jobs_and_traces(folder, traces):
        states = [os.stat(file) for file in files]
        moment = datetime.fromtimestamp(max(state.st_mtime for state in states), UTC)
        yield {
            "path": path,
            "kind": "trace" if path == files[0] else "job",
            "traces": len(files),
            "bytes": sum(state.st_size for state in states),
            "modified": moment.isoformat(timespec="seconds"),
        }


def _jobs_and_traces(
    folder: str, traces: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the folder of each job with its traces, and each other trace with itself;
    of folders inside each other the outermost is the job's."""
    if _is_job(folder, traces):
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
            yield from _jobs_and_traces(place, files)


def _is_job(folder: str, traces: Sequence[str]) -> bool:
    """Tell whether the files of a folder are of the ranks of one job, as far as names
    and the beginnings of files tell."""
    try:
        files = find_ranks(RankPaths(folder, tuple(traces), folder))
    except TraceError:
        return False
    return len(files.recording.files) > 1 and files.recording.has_ranks
