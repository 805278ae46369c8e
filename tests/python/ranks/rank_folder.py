# SPDX-License-Identifier: BSD-3-Clause
"""rank_folder.py: folders with the traces of many ranks, as their writers name them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

HOUR_US = 3.6e9


def rank_trace(
    rank: Any = None,
    world_size: Any = None,
    *,
    start_us: float = 1e6,
    tail: bool = False,
) -> bytes:
    """A trace of one operator; ``tail``: its metadata about the rank comes last."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1}
    events = {"traceEvents": [event | {"ts": start_us, "dur": 5}]}
    told = {"rank": rank, "world_size": world_size}
    info = {key: value for key, value in told.items() if value is not None}
    header = {"schemaVersion": 1} | ({"distributedInfo": info} if info else {})
    whole = events | header if tail else header | events
    return json.dumps(whole).encode()


def put(path: Path, data: bytes) -> Path:
    """Write a file, as gzip if its name says so, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
