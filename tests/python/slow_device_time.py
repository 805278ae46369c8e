# SPDX-License-Identifier: BSD-3-Clause
"""slow_device_time.py: busy and idle time of devices, counted the long way round.

From what slow_loader.py reads, with Python's integers, by counting how many events are
running from each moment on. Shares no code and no method with the core.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import NamedTuple

from .slow_loader import NO_TIME, SlowTrace

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op")
# What MTIA's streams waited for is recorded beside what they ran.
NO_WORK = ("event_wait", "event_record")

Stretch = tuple[int, int]


class Work(NamedTuple):
    """One kernel, copy or memset; times in nanoseconds."""

    device: int
    category: str
    begin: int
    end: int


def work_of(slow: SlowTrace) -> list[Work]:
    """Return the device work of a trace."""
    columns = (slow.columns[c] for c in ("phase", "category", "name", "ts", "dur"))
    rows = zip(*columns, slow.columns["device"], strict=True)
    return [
        Work(device, category, ts, ts + dur)
        for phase, category, name, ts, dur, device in rows
        if phase == "X" and category in WORK and name not in NO_WORK
        if NO_TIME not in (ts, dur) and dur >= 0
    ]


def union(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the stretches in which at least one of them runs, in order."""
    changes: collections.Counter[int] = collections.Counter()
    for begin, end in stretches:
        changes[begin] += 1
        changes[end] -= 1
    out: list[Stretch] = []
    running = 0
    for when in sorted(changes):
        before, running = running, running + changes[when]
        if before == 0 and running > 0:
            out.append((when, when))
        elif before > 0 and running == 0:
            out[-1] = (out[-1][0], when)
    return [(begin, end) for begin, end in joined(out) if end > begin]


def joined(parts: list[Stretch]) -> list[Stretch]:
    """Join stretches of which one begins where the other ends."""
    out: list[Stretch] = []
    for begin, end in parts:
        if out and out[-1][1] == begin:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out


def length(stretches: Iterable[Stretch]) -> int:
    """Return the sum of the lengths."""
    return sum(end - begin for begin, end in stretches)


def common(a: list[Stretch], b: list[Stretch]) -> int:
    """Return how long both are on at once; each in order and without overlap."""
    total = i = j = 0
    while i < len(a) and j < len(b):
        total += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total
