# SPDX-License-Identifier: BSD-3-Clause
"""capture.py: traces of the capture of graphs, as vLLM and SGLang write them.

``capture_traces/graph_capture_rank_0.*`` with ``execution_details.json`` (vLLM), or
``capture_traces/bs_<batch>_rank<r>.json.gz`` (SGLang). Other traces in the folder are
read as well: what fits a graph is decided by its kernels, not by names.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from torchtraceap import _core
from torchtraceap._core import Note
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.files import read_file
from torchtraceap.base.safe_text import printable
from torchtraceap.data.load import LoadPlan, read_trace
from torchtraceap.data.source import CAPTURES, ENDINGS, natural

DETAILS = "execution_details.json"
_RANK = re.compile(r"(?:rank|(?<![A-Za-z])TP)[-_]?(\d{1,9})")
_BATCH = re.compile(r"(?:^|[^a-z])bs[-_]?(\d{1,9})")
_HINT = (
    "Pass the folder that vLLM or SGLang wrote the traces of the graph capture to, "
    f"usually {CAPTURES}"
)


class _Details(NamedTuple):
    batch_size: int | None
    mode: str


def read_captures(
    folder: str, rank: int | None, recover: bool = False
) -> tuple[list[_core.Capture], list[Note]]:
    """Read the capture traces of one rank below a folder, each without keeping it;
    ``recover``: also what is sound of damaged ones. The notes name files that cannot be
    read.

    The rank is that of the analyzed trace; where that is unknown or the folder has no
    sound file of it, the lowest of the others. Files without a rank in their name are
    of every rank.

    Raises TraceError if there is no such folder, or none of its files is a capture.
    """
    place = _folder_of(folder)
    names = sorted(
        (name for name in os.listdir(place) if _may_be_capture(name)),
        key=natural,
    )
    if not names:
        raise trace_error(place, "capture", "no .json or .json.gz is in it", _HINT)
    plan = LoadPlan({"recover": recover}, progress=False)
    captures: list[_core.Capture] = []
    faults: list[TraceError | OSError] = []
    details: dict[str, _Details] = {}
    try:
        details = _read_details(os.path.join(place, DETAILS))
    except (TraceError, OSError) as fault:  # Names and kernels tell the captures.
        faults.append(fault)
    own = _of_rank(names, rank)
    for tried in (own, _of_rank([name for name in names if name not in own], None)):
        if any(map(len, captures)):
            break
        for name in tried:
            found = _BATCH.search(name)
            of_name = _Details(int(found[1]) if found else None, "")
            batch_size, mode = details.get(name, of_name)
            batch_size = of_name.batch_size if batch_size is None else batch_size
            try:
                trace = read_trace(os.path.join(place, name), plan)
                captures.append(_core.read_capture(trace, name, batch_size, mode))
            except (TraceError, OSError) as fault:
                faults.append(fault)
    if not captures:
        raise faults[0]
    if not any(map(len, captures)):
        cause = "none of its traces launches work"
        raise trace_error(place, "capture", cause, _HINT)
    return captures, [
        Note("capture_skipped", 1, f"Not read: {printable(str(fault), 600)}")
        for fault in faults
    ]


def rank_of(trace: _core.Trace) -> int | None:
    """Return the rank that a trace tells, in its header or its name."""
    try:
        rank = json.loads(trace.metadata.get("distributedInfo", "null"))["rank"]
    except (KeyError, TypeError, ValueError):
        found = _RANK.search(os.path.basename(trace.path))
        return int(found[1]) if found else None
    return rank if isinstance(rank, int) else None


def _folder_of(folder: str) -> str:
    inside = os.path.join(folder, CAPTURES)
    if os.path.isdir(inside):
        return inside
    if not os.path.isdir(folder):
        is_file = os.path.exists(folder)
        cause = "it is a file, not a folder" if is_file else "there is no such folder"
        raise trace_error(folder, "capture", cause, _HINT)
    return folder


def _may_be_capture(name: str) -> bool:
    return name.endswith(ENDINGS) and name != DETAILS and not name.startswith(".")


def _of_rank(names: Sequence[str], rank: int | None) -> list[str]:
    ranks = {n: int(found[1]) for n in names if (found := _RANK.search(n))}
    if ranks and rank not in ranks.values():
        rank = min(ranks.values())
    return [name for name in names if ranks.get(name, rank) == rank]


def _read_details(path: str) -> dict[str, _Details]:
    """Return batch size and mode by the name of each file; nothing without details."""
    if not os.path.lexists(path):
        return {}
    try:
        rows = json.loads(read_file(path))
        return {os.path.basename(row["file"]): _details_of(row) for row in rows}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise TraceError(
            f"{path}: it is not a list of objects with file, batch_size and mode. Let "
            "the engine write it again, or delete it: kernels then tell the capture.",
            path,
            "capture",
            "Let the engine write it again, or delete it.",
        ) from error


def _details_of(row: dict[str, object]) -> _Details:
    batch_size, mode = row.get("batch_size"), row.get("mode", "")
    if not isinstance(mode, str) or not (
        batch_size is None or (type(batch_size) is int and 0 <= batch_size < 2**31)
    ):
        raise TypeError("batch_size or mode")
    return _Details(batch_size, mode)
