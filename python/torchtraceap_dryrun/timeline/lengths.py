# SPDX-License-Identifier: BSD-3-Clause
"""lengths.py: what an operator gives the device to do, and for how long."""

from __future__ import annotations

from collections.abc import Iterable

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.kernel_time import copy_us, kernel_us
from torchtraceap_dryrun.estimate.launches import Launch, launches_of
from torchtraceap_dryrun.record import Copy, Op


class Lengths:
    """What an operator launches, and how long the device takes for it, in µs."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu

    def kernels(self, op: Op) -> Iterable[tuple[Launch, float]]:
        """Give kernels, memsets and the driver's copies, in the order of launch."""
        for launch in launches_of(op, self._gpu):
            yield launch, kernel_us(launch, self._gpu)

    def copy(self, copy: Copy) -> float:
        """Return how long a copy takes."""
        return copy_us(copy, self._gpu)
