# SPDX-License-Identifier: BSD-3-Clause
"""memory_figures.py: what torch.cuda.memory_* answer in a dry run.

Bytes come from the sizes of tensors. What only a real allocator has is 0: numbers of
allocations and segments, totals, and what lies in pools for small blocks.
"""

from __future__ import annotations

from typing import Any

from torchtraceap_dryrun.facade.device_properties import check_device
from torchtraceap_dryrun.facade.host import Host

_UNKNOWN = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
_POOLS = ("all", "small_pool", "large_pool")
_COUNTS = ("allocation", "segment", "active", "inactive_split")


class MemoryFigures:
    """The functions of torch._C that tell of memory.

    Reserved is the most that was in use since the cache was last emptied: an allocator
    keeps what was freed. Fragmentation is not known.

    Args:
        host: Who knows how much tensors take.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reserved = 0  # at least
        self._seen_peak = 0  # of the host, when the cache was last emptied
        self._reserved_peak = 0
        self._fraction = 1.0
        self._caching = True

    def _now(self) -> tuple[int, int, int]:
        """Return the bytes that are in use, those that were at most, and reserved."""
        current, peak = self._host.memory()
        if peak > self._seen_peak:
            self._reserved, self._seen_peak = max(self._reserved, peak), peak
        self._reserved = max(self._reserved, current)
        self._reserved_peak = max(self._reserved_peak, self._reserved)
        return current, peak, self._reserved

    def stats(self, device: int = 0) -> dict[str, Any]:
        """Return all figures, as a nested dictionary."""
        check_device(device)
        current, peak, reserved = self._now()
        used = {"current": current, "peak": peak}
        kept = {"current": reserved, "peak": self._reserved_peak}
        return {
            **{name: {pool: dict(_UNKNOWN) for pool in _POOLS} for name in _COUNTS},
            "allocated_bytes": _in_large_pool(used),
            "requested_bytes": _in_large_pool(used),
            "active_bytes": _in_large_pool(used),
            "reserved_bytes": _in_large_pool(kept),
            "inactive_split_bytes": _in_large_pool({}),
            "oversize_allocations": dict(_UNKNOWN),
            "oversize_segments": dict(_UNKNOWN),
            "max_split_size": -1,
            "num_alloc_retries": 0,
            "num_device_alloc": 0,
            "num_device_free": 0,
            "num_ooms": 0,
            "num_sync_all_streams": 0,
        }

    def reset_peak(self, device: int = 0) -> None:
        """Begin to look for the most anew."""
        check_device(device)
        *_, self._reserved_peak = self._now()
        self._host.reset_peak()
        self._seen_peak = self._host.memory()[1]

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
            self._host.call("device_sync", self._host.current_stream)
            self._host.wait("torch.cuda.empty_cache")

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
        """Return the limit last set."""
        check_device(device)
        return self._fraction

    def set_caching(self, value: bool) -> None:
        """Remember whether the allocator is to keep what is freed; it is as before."""
        self._caching = value

    def is_caching(self) -> bool:
        """Return what was last set."""
        return self._caching

    def backend(self) -> str:
        """Name the allocator that torch takes by itself."""
        return "native"


def _in_large_pool(figures: dict[str, int]) -> dict[str, dict[str, int]]:
    known = _UNKNOWN | figures
    return {"all": known, "large_pool": dict(known), "small_pool": dict(_UNKNOWN)}
