# SPDX-License-Identifier: BSD-3-Clause
"""peers.py: the loaders that are compared, and when one is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

MEMORY = 8 << 30  # more than this is asked of no machine
OURS = ("torchtraceap, 2 threads", "torchtraceap, 1 thread")


@dataclass(frozen=True)
class Peer:
    """A loader of loaders.py.

    Attributes:
        environment: Where it is installed, a key of ``environments.PACKAGES``.
        texts: Peak memory, in sizes of the text, a little more than was seen.
        most_mb: Larger inputs take it minutes: with --full only.
        tolerance_ns: How far a figure may be off; for a sum, for each of its events.
    """

    environment: str
    texts: float
    most_mb: int = 10_000
    tolerance_ns: dict[str, float] = field(default_factory=dict)


# Floats of microseconds are exact to half a nanosecond until 2^42; HTA rounds starts
# up and ends down to whole microseconds.
FLOATS = {"min_ts_ns": 1.0}
ROUNDED = {"sum_dur_but_spans_ns": 2000.0}
PEERS = {
    "msgspec Structs": Peer("json", 3.5, tolerance_ns=FLOATS),
    "msgspec Structs with args": Peer("json", 4.0, tolerance_ns=FLOATS),
    "pysimdjson": Peer("json", 5.0, tolerance_ns=FLOATS),
    "orjson": Peer("json", 9.0, 400, FLOATS),
    "json": Peer("json", 8.0, 400, FLOATS),
    "HTA": Peer("tools", 8.0, 60, ROUNDED),
    "TensorBoard plugin": Peer("tools", 8.0, 60, FLOATS),
}


def reason_to_skip(name: str, text_bytes: int, full: bool) -> str:
    """Say why a loader is not run on a text of this size, "" if it is."""
    peer = PEERS.get(name)
    if peer is None:
        return ""
    if text_bytes > peer.most_mb * 1e6 and not full:
        return f"over {peer.most_mb} MB with --full only"
    return memory_reason(text_bytes * peer.texts)


def memory_reason(need: float) -> str:
    """Say why so many bytes are too many, "" if they are not."""
    if need <= min(MEMORY, available_bytes()):
        return ""
    return f"would need about {need / 2**30:.1f} GiB of memory"


def available_bytes() -> int:
    """Return the memory that programs may still take."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0
