# SPDX-License-Identifier: BSD-3-Clause
"""memory_stats.py: what torch.cuda.memory_* and the CUDA runtime answer in a dry run.

Bytes come from the sizes of tensors. What only a real allocator has is 0: numbers of
allocations and segments, totals, and what lies in pools for small blocks.
"""

from __future__ import annotations

import enum
from typing import Any

from torchtraceap_dryrun.facade.device_properties import Remembered, check_device
from torchtraceap_dryrun.record_writer import RecordWriter

_UNKNOWN = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
_POOLS = ("all", "small_pool", "large_pool")
_USED = ("allocated", "requested", "active")
_EVENTS = (
    *("num_alloc_retries", "num_device_alloc", "num_device_free", "num_ooms"),
    "num_sync_all_streams",
)
_COUNTS = ("allocation", "segment", "active", "inactive_split")


class MemoryFigures:
    """The functions of torch._C that report memory.

    Reserved is the most that was in use since the cache was last emptied: an allocator
    keeps what was freed. Fragmentation is not known.
    """

    def __init__(self, host: RecordWriter) -> None:
        self._host = host
        self._reserved = 0  # at least
        self._seen_peak = 0  # of the host, when the cache was last emptied
        self._reserved_peak = 0
        self._fraction = 1.0
        self.caching = Remembered(True)

    def _now(self) -> tuple[int, int, int]:
        """Return the bytes that are in use, those that were at most, and reserved."""
        current, peak = self._host.live.now, self._host.live.peak
        if peak > self._seen_peak:
            self._reserved, self._seen_peak = max(self._reserved, peak), peak
        self._reserved = max(self._reserved, current)
        self._reserved_peak = max(self._reserved_peak, self._reserved)
        return current, peak, self._reserved

    def stats(self, device: int = 0) -> dict[str, Any]:
        check_device(device)
        current, peak, reserved = self._now()
        used = {"current": current, "peak": peak}
        kept = {"current": reserved, "peak": self._reserved_peak}
        return {
            **{name: {pool: dict(_UNKNOWN) for pool in _POOLS} for name in _COUNTS},
            **{f"{what}_bytes": _in_large_pool(used) for what in _USED},
            "reserved_bytes": _in_large_pool(kept),
            "inactive_split_bytes": _in_large_pool({}),
            "oversize_allocations": dict(_UNKNOWN),
            "oversize_segments": dict(_UNKNOWN),
            "max_split_size": -1,
            **dict.fromkeys(_EVENTS, 0),
        }

    def reset_peak(self, device: int = 0) -> None:
        check_device(device)
        *_, self._reserved_peak = self._now()
        self._host.live.peak = self._seen_peak = self._host.live.now

    def info(self, device: int = 0) -> tuple[int, int]:
        """Return the free and the whole memory of the device, as its driver sees it."""
        check_device(device)
        total = self._host.gpu.memory_bytes
        return max(0, total - self._now()[2]), total

    def empty_cache(self, *_: object) -> None:
        """Give back what is reserved and not in use, for which CUDA waits."""
        current, peak, reserved = self._now()
        self._reserved, self._seen_peak = current, peak
        if reserved > current:  # cudaFree waits for all work on the device.
            self._host.wait("torch.cuda.empty_cache", "device_sync")

    def host_stats(self) -> dict[str, Any]:
        """Return figures of pinned memory: none are kept."""
        return {}

    def snapshot(self, *_: object) -> dict[str, Any]:
        """Return a snapshot without a segment."""
        self._host.note("a snapshot of the memory is empty: it is not simulated")
        return {"segments": [], "device_traces": [[]], "allocator_settings": {}}

    def set_fraction(self, fraction: float, device: int = 0) -> None:
        """Remember a limit, which is not enforced."""
        check_device(device)
        self._fraction = fraction
        self._host.note("set_per_process_memory_fraction() limits nothing in a dry run")

    def fraction(self, device: int = 0) -> float:
        check_device(device)
        return self._fraction

    def backend(self) -> str:
        return "native"


def _in_large_pool(figures: dict[str, int]) -> dict[str, dict[str, int]]:
    known = _UNKNOWN | figures
    return {"all": known, "large_pool": dict(known), "small_pool": dict(_UNKNOWN)}


class Cudart:
    """What torch.cuda.cudart() has of the CUDA runtime: all calls succeed, for no
    profiler of CUDA can be attached."""

    class cudaError(enum.IntEnum):
        success = 0

    def __init__(self, host: RecordWriter, memory: MemoryFigures) -> None:
        self._host = host
        self.cudaMemGetInfo = memory.info

    def cudaGetErrorString(self, error: int) -> str:
        return "unknown error" if error else "no error"

    def cudaHostRegister(self, *_: int) -> cudaError:
        """Say that memory is pinned now; copies do not see that."""
        self._host.note("memory that cudaHostRegister() pins counts as not pinned")
        return self.cudaError.success

    def _succeed(self, *_: int) -> cudaError:
        return self.cudaError.success

    cudaProfilerStart = cudaProfilerStop = cudaHostUnregister = _succeed


class Nvtx:
    """torch.cuda.nvtx's module in C: ranges that no profiler sees."""

    _depth = 0

    def rangePushA(self, _: str) -> int:
        """Return how deep the range lies, from 0."""
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:
        """Return how deep the range that ends lies; -1: there was none."""
        depth, self._depth = self._depth - 1, max(0, self._depth - 1)
        return depth

    def _nothing(self, *_: object) -> int:
        return 1

    rangeStartA = rangeEnd = markA = deviceRangeStart = deviceRangeEnd = _nothing
