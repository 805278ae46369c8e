# SPDX-License-Identifier: BSD-3-Clause
"""launches.py: an operator as the kernels that CUDA PyTorch launches for it."""

from __future__ import annotations

import dataclasses
import functools

from torchtraceap_dryrun.estimate.collective_launches import collective
from torchtraceap_dryrun.estimate.gpus import GPUS, Gpu
from torchtraceap_dryrun.estimate.launch import Launch, inputs, results
from torchtraceap_dryrun.estimate.launch_table import TABLE
from torchtraceap_dryrun.estimate.list_launches import foreach
from torchtraceap_dryrun.estimate.plain_launches import (
    Rule,
    nothing,
    pointwise,
    reduction,
)
from torchtraceap_dryrun.record import Op

__all__ = ["Launch", "has_rule", "launches_of"]

_USUAL = GPUS["H100 SXM"]


def _tags(name: str, overload: str) -> frozenset[str]:
    """Return torch's tags of an operator; none without torch or if it has none."""
    space, _, base = name.partition("::")
    try:
        import torch

        packet = getattr(getattr(torch.ops, space), base)
        found = getattr(packet, overload or "default")
    except (ImportError, AttributeError, RuntimeError):
        return frozenset()
    return frozenset(tag.name for tag in found.tags)


@functools.cache
def _rule(name: str, overload: str) -> Rule | None:
    """Return the rule of an operator: its row, its family's, or by torch's tags."""
    space, _, base = name.partition("::")
    if space == "c10d":
        return collective
    if space != "aten":
        return None
    for known in (base, base.removesuffix("_")):
        if known in TABLE:
            return TABLE[known]
    if base.startswith("_foreach_"):
        return foreach
    tags = _tags(name, overload)
    if "inplace_view" in tags:
        return nothing
    if "pointwise" in tags:
        return pointwise
    if "reduction" in tags:
        return reduction
    return None


def has_rule(op: Op) -> bool:
    """Return whether it is known what an operator launches."""
    return op.is_view or _rule(op.name, op.overload) is not None


def launches_of(op: Op, gpu: Gpu | None = None) -> tuple[Launch, ...]:
    """Return the kernels of an operator on a GPU, in the order of their launch.

    Copies between host and device are none of them: those are `op.copy`. An operator
    that no rule knows is one elementwise kernel, marked `by_default`; so is one whose
    rule does not understand its arguments.

    Args:
        gpu: Which kernels convolutions and products need hangs on it; an H100 if left
            out. TF32 is used where torch's settings at the moment of the call allow it.
    """
    if op.is_view:
        return ()
    rule = _rule(op.name, op.overload)
    if rule is None and not (inputs(op) or results(op)):
        return ()
    try:
        if rule is not None:
            return rule(op, gpu or _USUAL)
    except (AttributeError, IndexError, TypeError, ValueError):
        pass  # Arguments of a kind that the rule does not know.
    return tuple(
        dataclasses.replace(found, by_default=True)
        for found in pointwise(op, gpu or _USUAL)
    )
