# SPDX-License-Identifier: BSD-3-Clause
"""copy_launches.py: kernels that copy, and what copies before it changes."""

from __future__ import annotations

import math

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import (
    Launch,
    argument,
    blocks,
    dtype,
    is_dense,
    results,
    same_order,
    tensors,
)
from torchtraceap_dryrun.estimate.plain_launches import Rule, moved, one, writes
from torchtraceap_dryrun.record import Op, TensorInfo

# Of cat: tensors whose addresses fit into the arguments of one kernel (Shape.cu).
_CAT_TENSORS = 128


def copied(name: str, source: TensorInfo, target: TensorInfo) -> tuple[Launch, ...]:
    """Return what copies one tensor on the device to another.

    The same elements in the same order are a copy by the driver; all else, a kernel.
    """
    if not target.numel:
        return ()
    moved_ = source.nbytes + target.nbytes
    alike = source.dtype == target.dtype and same_order(source, target)
    if alike and is_dense(source):
        return (Launch(name, "memcpy", target.dtype, 0.0, moved_),)
    # A kernel whose reads jump through memory is another one than a cast.
    ordered = same_order(source, target) and is_dense(source)
    work = "elementwise" if ordered else "copy"
    return (Launch(name, work, target.dtype, 0.0, moved_, blocks(target.numel)),)


def copy(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """copy_, clone, _to_copy and the like, on the device and over its border."""
    target = results(op)[0] if results(op) else None
    place = 1 if op.name.endswith("copy_") else 0
    source = next(tensors(argument(op, place, "self" if place == 0 else "src")), None)
    over_border = op.copy is not None and op.copy.direction != "d2d"
    if over_border or source is None:
        # Only a copy that does not block casts on the device.
        host = argument(op, place, "src")
        cast = isinstance(host, TensorInfo) and target and host.dtype != target.dtype
        if target and cast and op.copy is not None and not op.copy.blocking:
            return (Launch(op.name, "elementwise", target.dtype, 0.0,
                           2.0 * target.nbytes, blocks(target.numel)),)  # fmt: skip
        if over_border or target is None:
            return ()
        return writes()(op, gpu)
    assert target is not None
    return copied(op.name, source, target)


def cloned_then(work: str = "elementwise") -> Rule:
    """Return the rule of `f(x)` that is `x.clone().f_()`."""

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        source = next(tensors(op.args), None)
        if source is None:
            return one(work)(op, gpu)
        return (*copied(f"{op.name} copy", source, results(op)[0]),
                *one(work)(op, gpu))  # fmt: skip

    return rule


def cat(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Joins tensors: many in one kernel."""
    parts = [t for t in tensors(argument(op, 0, "tensors")) if t.numel]
    count = math.ceil(len(parts) / _CAT_TENSORS)
    each = moved(op) / max(count, 1)
    return (Launch(op.name, "cat", dtype(op), 0.0, each),) * count
