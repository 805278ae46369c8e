# SPDX-License-Identifier: BSD-3-Clause
"""kernel_time.py: how long a kernel or a copy takes, by its class.

    time = max(floor, start + max(FLOP / (peak * ef), bytes / (bandwidth * eb))
                      + blocks per multiprocessor * block)

A small kernel costs its start and no more: a roofline alone is off by 4 to 35 times
there. Start and block are those of an H100 and grow as clocks are slower. The constants
are fitted on published traces; docs/measured.md leads to how near they come, on
those and on others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.record import Copy

#: The shortest kernels in traces of an H100 take so long, in µs.
FLOOR_US = 1.2
#: Before and after the data of a copy from or to the host, in µs.
COPY_US = 1.5
#: Of the link's rate, what a copy from or to page-locked memory reaches (an assumption:
#: no trace shows an undisturbed one), and what one through the driver's own buffers
#: does: 0.41 to 0.63 on four V100 traces, 0.25 on one of an A100, 0.29 and 0.36 on one
#: of an H100.
PINNED_SHARE = 0.8
PAGEABLE_SHARE = 0.35
#: What a link between GPUs takes, in bytes per second: an assumption, as no dry run
#: knows what is between them. NVLink has several times this, a network often less.
BUS_BYTES_PER_S = 100e9


@dataclass(frozen=True)
class Row:
    """The constants of one class of kernels.

    Attributes:
        start_us: What the smallest ones take.
        ef: The share of the peak FLOP/s that large ones reach.
        eb: The share of the memory's bandwidth.
        error: The factor that half of its kernels were within, in the worst of the
            traces it was checked on; None: it was checked on none, and the constants
            are those of a like class.
        block_us: What a multiprocessor spends on a block besides.
        ef_of: By data type, where another share is reached than `ef`.
    """

    start_us: float
    ef: float
    eb: float
    error: float | None
    block_us: float = 0.0
    ef_of: Mapping[str, float] = field(default_factory=dict)


_CLOCK_HZ = 1.98e9  # Of the GPU that start and block are of.

#: By `Launch.work`.
CLASSES: Mapping[str, Row] = {
    "gemm": Row(6.0, 0.70, 0.50, 1.5, ef_of={"float32": 0.85, "tf32": 0.45}),
    "gemm_unaligned": Row(6.0, 0.45, 0.35, 1.4, ef_of={"float32": 0.85, "tf32": 0.28}),
    "gemv": Row(3.0, 0.70, 0.60, 1.2),
    "bmm": Row(3.0, 0.60, 0.55, 1.2),
    "bmm_unaligned": Row(3.0, 0.10, 0.30, 1.1),
    "attention": Row(3.0, 0.33, 0.60, 1.2, block_us=6.8),
    "attention_backward": Row(3.0, 0.33, 0.60, None, block_us=6.8),
    "norm": Row(3.0, 0.50, 0.50, 1.6),
    "column_reduce": Row(6.5, 0.50, 0.80, 2.0),
    "elementwise": Row(1.5, 1.0, 0.90, 2.0),
    "strided": Row(1.5, 1.0, 0.90, 1.5, block_us=0.074),
    "copy": Row(2.5, 1.0, 0.50, 1.2),
    "cat": Row(3.0, 1.0, 0.25, 1.2),
    "memcpy": Row(1.5, 1.0, 0.70, 2.0),
    "memset": Row(1.0, 1.0, 0.80, None),
    "reduce": Row(3.0, 1.0, 0.90, 1.6),
    "scan": Row(4.0, 1.0, 0.50, None),
    "sort": Row(6.0, 1.0, 0.25, None),
    "gather": Row(3.0, 1.0, 0.20, 1.8),
    "conv": Row(4.0, 0.60, 0.60, 1.1),
    "conv_backward": Row(11.0, 0.60, 0.70, 1.1),
    "conv_image": Row(4.0, 0.034, 0.60, 1.2),
    "conv_backward_image": Row(4.0, 0.034, 0.60, None),
    "layout_image": Row(2.0, 1.0, 0.15, None),
    "layout": Row(2.0, 1.0, 0.70, None),
    "batch_norm": Row(2.0, 1.0, 0.80, 1.1),
    "batch_norm_backward": Row(2.0, 1.0, 0.80, 1.1),
    "pool": Row(2.0, 1.0, 0.60, None),
    "lists": Row(3.0, 1.0, 0.80, None),
    # Of the link between GPUs, not of the memory.
    "collective": Row(10.0, 1.0, 1.0, None),
}


def kernel_us(launch: Launch, gpu: Gpu) -> float:
    """Return how long a launch takes on a GPU that does nothing else, in µs."""
    row = CLASSES[launch.work]
    ef = row.ef_of.get(launch.dtype, row.ef)
    compute = launch.flops / (gpu.peak(launch.dtype) * ef)
    between = launch.work == "collective"
    rate = BUS_BYTES_PER_S if between else gpu.bandwidth_bytes_per_s
    memory = launch.nbytes / (rate * row.eb)
    waves = max(1.0, (launch.blocks or 0) / gpu.multiprocessors)
    if launch.flops and launch.blocks and not row.block_us:
        # The last blocks take as long as a full load of the device.
        compute *= math.ceil(waves) * gpu.multiprocessors / launch.blocks
    clock = _CLOCK_HZ / gpu.clock_hz
    fixed = clock * (row.start_us + row.block_us * waves)
    return max(FLOOR_US, fixed + 1e6 * max(compute, memory))


def copy_us(copy: Copy, gpu: Gpu) -> float:
    """Return how long a copy takes on the device's side, in µs."""
    if copy.direction == "d2d":
        row = CLASSES["memcpy"]
        rate = gpu.bandwidth_bytes_per_s * row.eb / 2
        return row.start_us + 1e6 * copy.nbytes / rate
    share = PINNED_SHARE if copy.pinned else PAGEABLE_SHARE
    return COPY_US + 1e6 * copy.nbytes / (gpu.link_bytes_per_s * share)
