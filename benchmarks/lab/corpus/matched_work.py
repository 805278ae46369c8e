# SPDX-License-Identifier: BSD-3-Clause
"""matched_work.py: the same work in the traces of two twins.

Twins do the same but for one place, so step by step most of what the one does is in the
other too, in the same order. What is found in both tells when a moment of the slow run
comes in the fixed one; between two such moments time is taken to pass evenly.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

import numpy as np

from benchmarks.lab.corpus import runs
from torchtraceap import _core

_DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
#: SequenceMatcher is slow on long lists; more is matched in pieces of this length's
#: share of a step, which twins reach at about the same part of it.
MOST = 4000


def twin_moments(slow: _core.Trace, fixed: _core.Trace) -> dict[int, np.ndarray]:
    """Return, for each device of the slow trace, runs.Truth's moments.

    Without device work it is the host's operators that are matched, of all threads, as
    those of runs.HOST. Steps are matched by their order: the twins recorded as many.

    Raises:
        ValueError: They did not, or recorded none.
    """
    ours, theirs = steps_of(slow), steps_of(fixed)
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} recorded steps beside {len(theirs)}")
    found = {}
    theirs_by_device = work_of(fixed)
    for device, rows in work_of(slow).items():
        others = theirs_by_device.get(device)
        if others is None:
            continue
        pieces = [
            _in_step(slow, fixed, rows, others, here, there)
            for here, there in zip(ours, theirs, strict=True)
        ]
        moments = np.concatenate(pieces, axis=1)
        # What is later in one twin and earlier in the other tells nothing.
        order = np.lexsort((moments[1], moments[0]))
        found[device] = np.maximum.accumulate(moments[:, order], axis=1)
    return found


def steps_of(trace: _core.Trace) -> list[tuple[int, int]]:
    """Return begin and end of each ProfilerStep of the host, in order, in ns."""
    columns = trace.columns
    # Traces of 2021 have them among the operators.
    chosen = _of_categories(trace, {"user_annotation", "cpu_op"})
    named = [r for r in chosen if trace.name(int(r)).startswith("ProfilerStep#")]
    spans = {
        (int(columns["ts"][r]), int(columns["ts"][r] + columns["dur"][r]))
        for r in named
    }
    return sorted(spans)


def work_of(trace: _core.Trace) -> dict[int, np.ndarray]:
    """Return rows of each device's work by start, of the host's if there is none."""
    columns = trace.columns
    rows = _of_categories(trace, _DEVICE_WORK)
    if not len(rows):
        rows = _of_categories(trace, {"cpu_op"})
        return {runs.HOST: _by_start(columns, rows)}
    devices = columns["device"][rows]
    return {int(d): _by_start(columns, rows[devices == d]) for d in np.unique(devices)}


def _of_categories(trace: _core.Trace, names: set[str]) -> np.ndarray:
    known = _core.category_names()
    wanted = [i for i, name in enumerate(known) if name in names]
    return np.flatnonzero(np.isin(trace.columns["category"], wanted))


def _by_start(columns: Any, rows: np.ndarray) -> np.ndarray:
    return rows[np.argsort(columns["ts"][rows], kind="stable")]


def _in_step(
    slow: _core.Trace,
    fixed: _core.Trace,
    rows: np.ndarray,
    others: np.ndarray,
    here: tuple[int, int],
    there: tuple[int, int],
) -> np.ndarray:
    """Return the moments of one step: its borders and the work found in both."""
    ours = _between(slow, rows, here)
    theirs = _between(fixed, others, there)
    before, after = [here[0], here[1]], [there[0], there[1]]
    parts = max(len(ours), len(theirs)) // MOST + 1
    for a, b in zip(
        np.array_split(ours, parts), np.array_split(theirs, parts), strict=True
    ):
        names = [slow.name(int(r)) for r in a], [fixed.name(int(r)) for r in b]
        matcher = SequenceMatcher(None, *names, autojunk=False)
        for block in matcher.get_matching_blocks():
            x = a[block.a : block.a + block.size]
            y = b[block.b : block.b + block.size]
            for trace, found, into in ((slow, x, before), (fixed, y, after)):
                begin = trace.columns["ts"][found]
                into += [*begin, *(begin + trace.columns["dur"][found])]
    return np.array([before, after], np.int64)


def _between(trace: _core.Trace, rows: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    starts = trace.columns["ts"][rows]
    return rows[(starts >= span[0]) & (starts < span[1])]
