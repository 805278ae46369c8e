# SPDX-License-Identifier: BSD-3-Clause
"""gpus.py: the machines that programs are simulated on.

Times and rates are of public traces and data sheets: launch latency, gaps and call
costs as in traces of the same devices, bandwidth and flops of the maker, of which
kernels reach a part. `machine_of` draws the variation around them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Gpu:
    """A device and the host it is in."""

    name: str
    sms: int
    tflops: float  #: Of matrix products in 16 bits.
    bandwidth: float  #: Of memory, GB/s.
    pinned: float  #: Of copies from pinned memory, GB/s.
    pageable: float
    link: float  #: Between devices, what a collective's bytes move at, GB/s.
    latency: float  #: From a launch call's begin to its kernel's start, us.
    gap: float  #: Between queued kernels.
    launch: float  #: What a launch call takes.
    dispatch: float  #: What the host takes for an operator beside its launches.
    capability: tuple[int, int]
    threads: int = 2048  #: A multiprocessor.
    shared: int = 167936
    queue: int = 1021  #: Launches that are not started yet; 0: no limit.
    amd: bool = False
    noise: float = 0.03  #: Of kernels.


GPUS = (
    Gpu("Tesla V100-SXM2-16GB", 80, 112, 900, 12, 6.5, 60, 12.5, 1.2, 7.5, 14,
        (7, 0), shared=98304),
    Gpu("NVIDIA A100-SXM4-80GB", 108, 312, 1935, 24, 9, 150, 9.5, 1.1, 5.5, 10, (8, 0)),
    Gpu("NVIDIA H100 80GB HBM3", 132, 800, 3350, 50, 12, 300, 6.6, 1.0, 4.8, 8, (9, 0),
        shared=233472),
    Gpu("NVIDIA B200", 148, 1800, 7700, 55, 14, 500, 8.5, 0.9, 4.5, 7.5, (10, 0),
        shared=233472),
    Gpu("NVIDIA GeForce RTX 4090", 128, 165, 1008, 25, 11, 12, 7.0, 1.0, 4.2, 6.5,
        (8, 9), threads=1536, shared=102400),
    Gpu("AMD Instinct MI300X", 304, 900, 5300, 48, 16, 250, 11.0, 0.0, 5.0, 8.5,
        (9, 4), shared=65536, queue=0, amd=True),
)  # fmt: skip


def machine_of(rng: random.Random) -> Gpu:
    """Draw a machine: hosts differ in speed by half, links and copies by a tenth."""
    gpu = rng.choice(GPUS)
    host = rng.uniform(0.8, 1.6)
    copies = rng.uniform(0.88, 1.0)
    return replace(
        gpu,
        launch=gpu.launch * host,
        dispatch=gpu.dispatch * host,
        latency=gpu.latency + gpu.launch * (host - 1),
        pinned=gpu.pinned * copies,
        pageable=gpu.pageable * rng.uniform(0.75, 1.15),
        link=gpu.link * rng.uniform(0.6, 1.0),
        noise=rng.uniform(0.01, 0.06),
    )
