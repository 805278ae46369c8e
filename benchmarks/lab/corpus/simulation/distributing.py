# SPDX-License-Identifier: BSD-3-Clause
"""distributing.py: a program on two ranks, its gradients reduced bucket by bucket."""

from __future__ import annotations

import numpy as np

from benchmarks.lab.corpus.simulation.inserting import after_backward
from benchmarks.lab.corpus.simulation.items import Item, Step, Steps
from benchmarks.lab.corpus.simulation.lowering import Lowering
from torchtraceap_dryrun.estimate.gpus import Gpu

_BUCKET_BYTES = 25 << 20  # DistributedDataParallel's own.
_LATENCY_US = 14.0
_WITHOUT_LINK = ("T4", "RTX A6000", "RTX 4090")  # Over PCIe.


def with_collectives(step: Step, parameters: tuple[int, ...], gpu: Gpu) -> Step:
    """Put in what DistributedDataParallel adds: buckets, as their gradients are there.

    Returns the step itself if it has no backward pass.
    """
    places = [i for i, item in enumerate(step) if item.phase == "backward"]
    if not places or not parameters:
        return step
    nbytes = 4 * sum(parameters)
    many = min(max(2, -(-nbytes // _BUCKET_BYTES)), 12, len(places))
    rate = gpu.link_bytes_per_s / 2 if gpu.name in _WITHOUT_LINK else 120e9
    us = _LATENCY_US + 1e6 * nbytes / many / rate
    out = list(step)
    for k in reversed(range(many)):
        at = places[(k + 1) * len(places) // many - 1] + 1
        bucket = Item(f"bucket{k}", "reduce", "allreduce", "backward", us=us,
                      nbytes=nbytes // many)  # fmt: skip
        out.insert(at, bucket)
    out.insert(after_backward(out), Item("buckets done", "reduced", ""))
    return out


def arrivals_of(lowering: Lowering, steps: Steps) -> list[dict[str, float]]:
    """Return when a rank like this one comes to each collective, from its step's begin.

    Scheduled alone: the other rank's clock is this rank's without any cause.
    """
    lowered = lowering.lower(steps)
    times, _ = lowered.program.times()
    starts = iter(lowered.reductions)
    out = []
    begin = 0.0
    for number, step in enumerate(steps.steps):
        out.append(
            {
                item.key: (float(times[next(starts), 0]) - begin) / 1000
                for item in step
                if item.kind == "reduce"
            }
        )
        prefix = f"{number}|"
        ends = [
            times[place, 1]
            for place, key in lowered.keys.items()
            if key.startswith(prefix)
        ]
        begin = float(np.max(ends)) if ends else begin
    return out
