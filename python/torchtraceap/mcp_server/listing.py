# SPDX-License-Identifier: BSD-3-Clause
"""listing.py: the traces and jobs below a folder, as ``analyze`` recognizes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from torchtraceap.ranks.first_look import look
from torchtraceap.ranks.jobs_below import jobs_and_traces


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
    for path, files in jobs_and_traces(traces):
        states = [os.stat(file) for file in files]
        moment = datetime.fromtimestamp(max(state.st_mtime for state in states), UTC)
        yield {
            "path": path,
            "kind": "trace" if path == files[0] else "job",
            "traces": len(files),
            "bytes": sum(state.st_size for state in states),
            "modified": moment.isoformat(timespec="seconds"),
        }
