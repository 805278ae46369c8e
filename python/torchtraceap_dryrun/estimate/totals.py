# SPDX-License-Identifier: BSD-3-Clause
"""totals.py: what operators give a GPU to do, added up. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.kernel_time import copy_us, kernel_us
from torchtraceap_dryrun.estimate.launches import launches_of
from torchtraceap_dryrun.record import Op


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


@dataclass(frozen=True, slots=True)
class Work:
    """What one operator gives a GPU to do."""

    op: Op
    totals: Totals
    by_default: bool  #: It is not known what the operator launches: it counts as one.


def work_of(op: Op, gpu: Gpu) -> Work:
    """Return the work of an operator that is more than a view."""
    kernels = launches_of(op, gpu)
    time = sum(kernel_us(kernel, gpu) for kernel in kernels)
    copies = copied = 0
    if op.copy is not None and op.copy.nbytes > 0:  # Nothing is not copied.
        time += copy_us(op.copy, gpu)
        if op.copy.direction != "d2d":
            copies, copied = 1, op.copy.nbytes
    totals = Totals(1, len(kernels), copies, copied, device_us=time)
    return Work(op, totals, any(kernel.by_default for kernel in kernels))
