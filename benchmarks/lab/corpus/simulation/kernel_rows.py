# SPDX-License-Identifier: BSD-3-Clause
"""kernel_rows.py: launches as a profiler writes them: name, grid, block, registers.

A dry run knows the class of a kernel. Its name here is one that PyTorch's own kernels,
cuBLAS or cuDNN have on such a device, drawn by the operator, so that one operator's
kernels keep theirs.
"""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass

from benchmarks.lab.corpus.simulation.kernel_names import HEAVY, kernel_name
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import Launch

# Threads of a block and registers of a thread, by class; shared memory in bytes.
_BLOCKS = {
    "elementwise": (128, 32), "strided": (128, 40), "copy": (128, 32),
    "cat": (128, 34), "gather": (128, 32), "reduce": (512, 32), "norm": (256, 40),
    "column_reduce": (512, 48), "scan": (256, 40), "sort": (256, 60),
    "lists": (512, 48), "batch_norm": (512, 38), "batch_norm_backward": (512, 44),
    "pool": (256, 36), "layout": (256, 34), "layout_image": (256, 40),
}  # fmt: skip
_SHARED = {
    "reduce": 16, "norm": 48, "column_reduce": 4096, "batch_norm": 1024,
    "batch_norm_backward": 2048, "layout": 8704, "sort": 16384, "scan": 2064,
}  # fmt: skip


@dataclass(frozen=True)
class KernelRow:
    """What is recorded of a launch, beside its time."""

    name: str
    args: str
    blocks_per_sm: float


class KernelRows:
    """Names and describes the launches of one run, for one GPU."""

    def __init__(self, gpu: Gpu, seed: int) -> None:
        self._gpu, self._seed = gpu, seed
        self._known: dict[tuple[Launch, str, float], KernelRow] = {}

    def row(self, launch: Launch, operator: str, blocks: float = 1.0) -> KernelRow:
        """Describe a launch of an operator, with so many times its blocks."""
        key = (launch, operator, blocks)
        if key not in self._known:
            self._known[key] = self._row(launch, operator, blocks)
        return self._known[key]

    def _row(self, launch: Launch, operator: str, share: float) -> KernelRow:
        gpu = self._gpu
        draw = zlib.crc32(f"{self._seed}{operator}{launch.work}".encode())
        heavy = launch.work in HEAVY
        threads, registers = (
            ((128, 256, 384)[draw % 3], (90, 122, 168, 232)[draw // 3 % 4])
            if heavy
            else _BLOCKS.get(launch.work, (128, 32))
        )
        shared = (32768, 49152, 73728, 98304)[draw % 4] if heavy else 0
        shared = min(shared, 49152 if gpu.compute_capability < (8, 0) else shared)
        shared = shared or _SHARED.get(launch.work, 0)
        total = launch.blocks or max(1, math.ceil(launch.nbytes / 16384))
        total = max(1, round(total * share))
        grid = [total, 1, 1]
        if heavy and total > 3:
            grid = [math.ceil(total / 2), 2, 1]
        if grid[0] > 2**31 - 1:
            grid = [65535, math.ceil(total / 65535), 1]
        blocks = math.prod(grid) / gpu.multiprocessors
        fit = min(
            gpu.threads_per_multiprocessor // threads,
            65536 // (registers * threads),
            167936 // shared if shared else 32,
        )
        resident = min(max(fit, 1), blocks)
        occupancy = 100 * resident * threads / gpu.threads_per_multiprocessor
        args = {
            "queued": 0,
            "registers per thread": registers,
            "shared memory": shared,
            "warps per SM": round(blocks * threads / 32, 6),
            "grid": grid,
            "block": [threads, 1, 1],
            "est. achieved occupancy %": min(100, round(occupancy)),
        }
        name = kernel_name(launch, operator, gpu, draw)
        return KernelRow(name, json.dumps(args)[1:-1], blocks)
