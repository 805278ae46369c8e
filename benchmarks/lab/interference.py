# SPDX-License-Identifier: BSD-3-Clause
"""interference.py: how much other programs used the processors."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def busy_s() -> float:
    """Return the time all processors together have worked since the machine began."""
    ticks = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = map(int, ticks)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Return what of it this process and its ended children did."""
    used = (resource.getrusage(w) for w in (-1, 0))  # children, self
    return sum(u.ru_utime + u.ru_stime for u in used)


class Interference:
    """What a stretch of time was like: `share` of the processors went to others."""

    share = 0.0


@contextmanager
def observed() -> Iterator[Interference]:
    """Measure the others' share while the body runs; its children must end in it."""
    out = Interference()
    begun, busy, own = time.monotonic(), busy_s(), own_s()
    yield out
    elapsed = (time.monotonic() - begun) * (os.cpu_count() or 1)
    others = (busy_s() - busy) - (own_s() - own)
    out.share = max(0.0, others) / elapsed


def wait_for_quiet(most: float, patience_s: float) -> None:
    """Return once others use less than `most` of the processors, for two seconds, or
    when patience has run out."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        with observed() as now:
            time.sleep(2)
        if now.share < most:
            return
