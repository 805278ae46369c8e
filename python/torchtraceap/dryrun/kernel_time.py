# SPDX-License-Identifier: BSD-3-Clause
"""kernel_time.py: how long a kernel or a copy takes, by its class.

    time = max(floor, start + max(FLOP / (peak * ef), bytes / (bandwidth * eb)))

A small kernel costs its start and no more: a roofline alone is off by 4 to 35 times
there. The constants are fitted on published traces; docs/dryrun_accuracy.md says how
near they come, on those and on others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torchtraceap.dryrun.gpus import Gpu
from torchtraceap.dryrun.launch import Launch
from torchtraceap.dryrun.record import Copy

#: The shortest kernels in traces of an H100 take so long, in µs.
FLOOR_US = 1.2
#: Before and after the data of a copy from or to the host, in µs.
COPY_US = 1.5
#: Of the link's rate, what a copy from or to page-locked memory reaches; and what one
#: through the driver's own buffers does, in bytes per second, however fast the link.
PINNED_SHARE = 0.8
PAGEABLE_BYTES_PER_S = 6e9


@dataclass(frozen=True)
class Row:
    """The constants of one class of kernels.

    Attributes:
        start_us: What the smallest ones take.
        ef: The share of the peak FLOP/s that large ones reach.
        eb: The share of the memory's bandwidth; over 1 where caches help.
        error: The factor that half of those it was checked on are within; None: it
            was checked on none.
    """

    start_us: float
    ef: float
    eb: float
    error: float | None


#: By `Launch.work`.
CLASSES: Mapping[str, Row] = {
    "gemm": Row(6.0, 0.70, 0.50, 1.12),
    "bmm": Row(3.0, 0.10, 0.30, 1.07),
    "attention": Row(8.0, 0.20, 0.60, 1.10),
    "attention_backward": Row(10.0, 0.20, 0.60, None),
    "norm": Row(3.0, 0.50, 0.50, 1.16),
    "column_reduce": Row(8.0, 0.50, 0.50, None),
    "elementwise": Row(1.5, 1.0, 0.90, 1.11),
    "copy": Row(2.5, 1.0, 0.50, 1.12),
    "cat": Row(2.5, 1.0, 0.50, None),
    "memcpy": Row(1.5, 1.0, 0.80, None),
    "memset": Row(1.0, 1.0, 0.80, None),
    "reduce": Row(3.0, 1.0, 0.90, 1.02),
    "scan": Row(4.0, 1.0, 0.50, None),
    "sort": Row(6.0, 1.0, 0.25, None),
    "gather": Row(3.0, 1.0, 0.60, 1.5),
    "conv": Row(5.0, 0.60, 0.60, 1.09),
    "conv_backward": Row(15.0, 0.60, 0.70, 1.19),
    "layout": Row(2.0, 1.0, 0.70, None),
    "batch_norm": Row(2.0, 1.0, 0.80, 1.09),
    "batch_norm_backward": Row(2.0, 1.0, 0.80, 1.06),
    "pool": Row(2.0, 1.0, 0.60, None),
    "lists": Row(3.0, 1.0, 0.80, None),
}


def kernel_us(launch: Launch, gpu: Gpu) -> float:
    """Return how long a launch takes on a GPU that does nothing else, in µs."""
    row = CLASSES[launch.work]
    compute = launch.flops / (gpu.peak(launch.dtype) * row.ef)
    memory = launch.nbytes / (gpu.bandwidth_bytes_per_s * row.eb)
    return max(FLOOR_US, row.start_us + 1e6 * max(compute, memory))


def copy_us(copy: Copy, gpu: Gpu) -> float:
    """Return how long a copy takes on the device's side, in µs."""
    if copy.direction == "d2d":
        row = CLASSES["memcpy"]
        rate = gpu.bandwidth_bytes_per_s * row.eb / 2
        return row.start_us + 1e6 * copy.nbytes / rate
    pinned = gpu.link_bytes_per_s * PINNED_SHARE
    rate = pinned if copy.pinned else min(pinned, PAGEABLE_BYTES_PER_S)
    return COPY_US + 1e6 * copy.nbytes / rate
