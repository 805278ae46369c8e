# SPDX-License-Identifier: BSD-3-Clause
"""totals.py: what operators give a GPU to do, added up. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass

from torchtraceap.dryrun.estimate.gpus import Gpu
from torchtraceap.dryrun.estimate.kernel_time import copy_us, kernel_us
from torchtraceap.dryrun.estimate.launches import Launch, launches_of
from torchtraceap.dryrun.record import Op


@dataclass(frozen=True)
class Totals:
    """What a step, a module or a line gives a GPU to do."""

    ops: int = 0  #: Operators, without those that only make views.
    launches: int = 0  #: Kernels and memsets.
    copies: int = 0  #: To and from the host.
    copied_bytes: int = 0
    waits: int = 0
    device_us: float = 0.0  #: An estimate: kernels and copies one after the other.

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.ops + other.ops,
            self.launches + other.launches,
            self.copies + other.copies,
            self.copied_bytes + other.copied_bytes,
            self.waits + other.waits,
            self.device_us + other.device_us,
        )


def kernels_of(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Return what an operator launches; views launch nothing."""
    return () if op.is_view else launches_of(op, gpu)


def work_of(op: Op, gpu: Gpu) -> Totals:
    """Return the totals of one operator."""
    kernels = kernels_of(op, gpu)
    time = sum(kernel_us(kernel, gpu) for kernel in kernels)
    if op.copy is None or op.copy.nbytes == 0:  # Nothing is not copied.
        return Totals(1, len(kernels), device_us=time)
    across = op.copy.direction != "d2d"
    return Totals(
        1,
        len(kernels),
        int(across),
        op.copy.nbytes if across else 0,
        device_us=time + copy_us(op.copy, gpu),
    )
