# SPDX-License-Identifier: BSD-3-Clause
"""interference.py: how much other programs used the processors."""

from __future__ import annotations

import contextlib
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
    """Return what of it this process and its children did, ended or not."""
    used = (resource.getrusage(w) for w in (-1, 0))  # ended children, self
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # It ended meanwhile.
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                ticks += int(fields[11]) + int(fields[12])
    running = ticks / os.sysconf("SC_CLK_TCK")
    return running + sum(u.ru_utime + u.ru_stime for u in used)


class Interference:
    """What a stretch of time was like: `share` of the processors went to others."""

    share = 0.0


@contextmanager
def observed() -> Iterator[Interference]:
    """Measure the others' share while the body runs."""
    out = Interference()
    begun, busy, own = time.monotonic(), busy_s(), own_s()
    yield out
    elapsed = (time.monotonic() - begun) * (os.cpu_count() or 1)
    others = (busy_s() - busy) - (own_s() - own)
    out.share = max(0.0, others) / elapsed
