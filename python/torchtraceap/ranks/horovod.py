# SPDX-License-Identifier: BSD-3-Clause
"""horovod.py: a Horovod timeline (HOROVOD_TIMELINE) as text: which rank was waited for.

Rank 0 writes a Chrome trace whose processes are tensors. Before a collective it hears
from every rank that it is ready: a range NEGOTIATE_ALLREDUCE, in it an event called by
the number of each rank. Then follows a range ALLREDUCE. Tensors in the response cache
(Horovod 0.19 on) are negotiated without naming ranks.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from torchtraceap import _core
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import time_text

_NEGOTIATE = "NEGOTIATE_"
# Rank 0 hears from the others once a cycle (1 ms by default): ranks that it writes down
# within half of one came together.
_TOGETHER_US = 500.0
_SHOWN = 12  # Tensors.
_RANKS = ("rank", "came last", "after the first")
_TENSORS = ("negotiated", "operation", "times", "last", "tensor")
_Array = npt.NDArray[Any]


def is_horovod(trace: _core.Trace) -> bool:
    """Tell whether a trace is a Horovod timeline, and not one of torch.profiler."""
    known = trace.columns["category"] != trace.category_names.index("unknown")
    if bool((known & (trace.columns["phase"] != b"M")).any()):
        return False
    return any(name.startswith(_NEGOTIATE) for name in trace.strings)


def horovod_text(trace: _core.Trace) -> str:
    """Write how long ranks waited until all were ready, which came last, and how long
    the operations took. O(n log n) in the events of a Horovod timeline."""
    columns, names = trace.columns, trace.strings
    timed = (columns["phase"] != b"M") & (columns["ts"] != _core.NO_TIME)
    rows = np.flatnonzero(timed)
    # By tensor, in file order.
    rows = rows[np.lexsort((columns["args_offset"][rows], columns["pid"][rows]))]
    phase, name, us = (columns[key][rows] for key in ("phase", "name", "ts"))
    us = us / 1000
    pids, tensor = np.unique(columns["pid"][rows], return_inverse=True)
    begin, end, outer = _ranges(phase, tensor)
    us[end] = np.maximum(us[end], us[begin])
    negotiates = np.array([one.startswith(_NEGOTIATE) for one in names])[name[begin]]
    first, done = begin[negotiates], end[negotiates]

    # An event called by a number is of the negotiation that began before it.
    numbers = np.array([int(x) if x.isdecimal() and len(x) < 8 else -1 for x in names])
    ticks = np.flatnonzero((phase == b"X") & (numbers[name] >= 0))
    ticks = ticks[ticks > min(first, default=len(rows))]
    at = np.searchsorted(first, ticks) - 1
    inside = (tensor[ticks] == tensor[first[at]]) & (us[ticks] <= us[done[at]])
    ticks, at = ticks[inside], at[inside]
    heard = np.full((2, len(first)), [[np.inf], [-np.inf]])  # Of the first and last.
    np.minimum.at(heard[0], at, us[ticks])
    np.maximum.at(heard[1], at, us[ticks])
    late, rank = us[ticks] - heard[0, at], numbers[name[ticks]]
    is_last = (heard[1, at] - us[ticks] < _TOGETHER_US) & (late >= _TOGETHER_US)
    ranks = [
        (float(late[rank == one].sum()), int(is_last[rank == one].sum()), int(one))
        for one in np.unique(rank)
    ]
    sums = [
        np.bincount(tensor[begin[some]], (us[end] - us[begin])[some], len(pids))
        for some in (negotiates, outer & ~negotiates)
    ]
    counts = np.bincount(tensor[first], minlength=len(pids))
    kinds = dict(zip(tensor[begin[outer]], name[begin[outer]], strict=True))
    called = _names_of(trace)
    table: list[tuple[str, ...]] = []
    for i in sorted(kinds, key=lambda i: (-sums[0][i], -sums[1][i], i)):
        own = tensor[ticks] == i
        who, often = np.unique(rank[own & is_last], return_counts=True)
        most = [f"rank {who[k]} {often[k]}×" for k in np.argsort(-often)[:2]]
        last = ", ".join(most) or ("-" if own.any() else "?")
        times = (time_text(float(one[i])) for one in sums)
        title = called.get(int(pids[i]), trace.identity(pids[i]))
        kind = names[kinds[i]].removeprefix(_NEGOTIATE)
        table.append((*times, f"{counts[i]:,}×", last, printable(f"{kind} {title}")))
    span = time_text(float(np.ptp(us)) if len(us) else 0.0)
    left = int(np.count_nonzero(phase == b"B")) - len(begin)
    text = _summary(ranks, len(np.unique(at)), len(first), left, len(table))
    lines = [f"{printable(trace.path)}: a Horovod timeline, {span}", "", *text, ""]
    if ranks:
        cells = [(str(one), f"{n:,}×", time_text(after)) for after, n, one in ranks]
        lines += [*align([_RANKS, *cells], right=range(3)), ""]
    lines += align([_TENSORS, *table[:_SHOWN]], right=range(3))
    more = [f"and {len(table) - _SHOWN:,} more"] if table[_SHOWN:] else []
    return "\n".join([*lines, *more])


def _ranges(phase: _Array, process: _Array) -> tuple[_Array, _Array, _Array]:
    """Pair each B with the next E of its process and depth: the rows of both, in order
    of the B, and whether no other range is around them."""
    marks = np.flatnonzero((phase == b"B") | (phase == b"E"))
    of, is_begin = process[marks], phase[marks] == b"B"
    change = np.where(is_begin, 1, -1)
    depth = np.cumsum(change)
    # What a process before it left open does not count.
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    sizes = np.diff(np.append(starts, len(marks)))
    depth = depth - np.repeat(depth[starts] - change[starts], sizes) + ~is_begin
    order = np.lexsort((marks, depth, of))
    one, two = order[:-1], order[1:]
    pairs = is_begin[one] & ~is_begin[two] & (of[one] == of[two])
    pairs &= depth[one] == depth[two]
    by_start = np.argsort(one[pairs])
    one, two = one[pairs][by_start], two[pairs][by_start]
    return marks[one], marks[two], depth[one] == 1


def _summary(
    ranks: list[tuple[float, int, int]], named: int, count: int, left: int, tensors: int
) -> list[str]:
    of = f" of {len(ranks)} ranks" if ranks else ""
    text = f"{count:,} negotiations{of} over {tensors:,} tensors."
    if late := [row for row in ranks if row[1]]:
        us, often, rank = max(late)
        text += f" Rank {rank} was waited for most: it came last {often:,} times of "
        text += f"{named:,}, {time_text(us)} after the first in all."
    elif ranks:
        text += " No rank came later than the others by more than half a cycle."
    if named < count:
        text += (
            f"\n{count - named:,} negotiations name no ranks, as Horovod's response "
        )
        text += "cache knew their tensors: HOROVOD_CACHE_CAPACITY=0 has all named."
    if left:
        text += (
            f"\n{left:,} ranges have no end: the file was cut, or the job hung there."
        )
    return [line for part in text.split("\n") for line in wrapped(part, "")]


def _names_of(trace: _core.Trace) -> dict[int, str]:
    columns, names = trace.columns, trace.strings
    wanted = [i for i, name in enumerate(names) if name == "process_name"]
    rows = np.flatnonzero((columns["phase"] == b"M") & np.isin(columns["name"], wanted))
    args = (json.loads(text or "{}") for text in trace.read_args(rows.tolist()))
    found = zip(columns["pid"][rows].tolist(), args, strict=True)
    return {pid: arg["name"] for pid, arg in found if isinstance(arg.get("name"), str)}
