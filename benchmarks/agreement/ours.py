# SPDX-License-Identifier: BSD-3-Clause
"""ours.py: torchtraceap's figures for the quantities that HTA reports, in nanoseconds.

Busy time is the report's own; the kinds of work in it, and the time between the first
and the last work, come from the columns of `torchtraceap.load`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from benchmarks.agreement.raw import (
    MEMORY,
    MTIA,
    MTIA_COPY,
    MTIA_WAITS,
    OUR_COMMUNICATION,
)

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op")


def union(begin: np.ndarray, end: np.ndarray) -> int:
    """Return the length of the union of stretches that are sorted by begin."""
    if not begin.size:
        return 0
    reached = np.maximum.accumulate(end)
    before = np.concatenate(([begin[0]], reached[:-1]))
    return int(np.maximum(0, end - np.maximum(begin, before)).sum())


def ours(path: Path) -> dict[str, Any]:
    """Return busy, idle, the union of each type, overlap, and each kernel's sum.

    Raises:
        AssertionError: the report's busy time is not that of the columns.
    """
    trace = torchtraceap.load(path)
    columns = trace.columns
    known = trace.category_names
    wanted = [known.index(name) for name in WORK if name in known]
    names = np.array(trace.strings, dtype=object)
    waits = [i for i, name in enumerate(names) if name in MTIA_WAITS]
    work = np.isin(columns["category"], wanted) & ~np.isin(columns["name"], waits)
    order = np.flatnonzero(work)
    order = order[np.argsort(columns["ts"][order], kind="stable")]
    begin = columns["ts"][order]
    end = begin + columns["dur"][order]
    name, cat = columns["name"][order], columns["category"][order]
    memory = np.isin(cat, [known.index(n) for n in MEMORY if n in known])
    copies = [i for i, n in enumerate(names) if n == MTIA_COPY]
    if MTIA in known:
        memory |= (cat == known.index(MTIA)) & np.isin(name, copies)
    says = np.array([bool(OUR_COMMUNICATION.search(n)) for n in names], dtype=bool)
    communication = says[name] & ~memory if name.size else memory
    compute = ~memory & ~communication
    devices = np.unique(columns["device"][order])
    busy = sum(
        union(begin[of], end[of])
        for of in (columns["device"][order] == devices[:, None])
    )
    balance = torchtraceap.analyze(trace).core.balance
    reported = sum(row.busy_ns for row in balance if row.device is not None)
    assert not balance or reported == busy, (path, reported, busy)
    out: dict[str, Any] = {"busy": busy, "idle": 0}
    if begin.size:
        out["idle"] = int(end.max() - begin[0]) - busy
    for key, of in (
        ("compute", compute),
        ("communication", communication),
        ("memory", memory),
        ("either", ~memory),
    ):
        out[key] = union(begin[of], end[of])
    out["overlap"] = out["compute"] + out["communication"] - out.pop("either")
    sums = np.bincount(name, weights=(end - begin).astype(float), minlength=len(names))
    out["kernels"] = {str(names[i]): int(sums[i]) for i in np.unique(name)}
    return out
