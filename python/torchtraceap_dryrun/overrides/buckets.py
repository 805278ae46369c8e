# SPDX-License-Identifier: BSD-3-Clause
"""buckets.py: gradients that are summed over ranks at once. Loads torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass
class Bucket:
    """Gradients that are summed at once; what a communication hook is given."""

    number: int
    params: list[Tensor]
    indices: list[int]
    memory: Tensor
    views: list[Tensor]
    pending: set[int]
    last: bool
    work: Any = None

    def index(self) -> int:
        """Return its place in the order in which buckets are summed."""
        return self.number

    def buffer(self) -> Tensor:
        """Return all gradients, one behind the other."""
        return self.memory

    def gradients(self) -> list[Tensor]:
        """Return the gradients."""
        return self.views

    def parameters(self) -> list[Tensor]:
        """Return what they are the gradients of."""
        return self.params

    def is_last(self) -> bool:
        """Tell whether no bucket comes after this one."""
        return self.last

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace all gradients."""
        self.memory.copy_(buffer)


def buckets_of(params: Sequence[Tensor], places: list[list[int]]) -> list[Bucket]:
    """Make buckets, with memory for the gradients.

    Args:
        params: All parameters.
        places: Of those in each bucket, in the order in which buckets are summed.
    """
    buckets = []
    for number, indices in enumerate(places):
        inside = [params[index] for index in indices]
        sizes = [one.numel() for one in inside]
        memory = inside[0].new_empty(sum(sizes), requires_grad=False)
        pieces = zip(inside, memory.split(sizes), strict=True)
        views = [piece.view(one.shape) for one, piece in pieces]
        last = number == len(places) - 1
        buckets.append(Bucket(number, inside, indices, memory, views, set(), last))
    return buckets


def unreached(params: Sequence[Tensor], outputs: Sequence[Tensor]) -> set[int]:
    """Return the places of parameters that had no part in making ``outputs``."""
    reached, seen = set(), set()
    nodes = [one.grad_fn for one in outputs if one.grad_fn is not None]
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            reached.add(id(node.variable))
        nodes += [one for one, _ in node.next_functions if one is not None]
    return {at for at, one in enumerate(params) if id(one) not in reached}


def agree(group: Any, like: Tensor, size: int) -> None:
    """Send ``size`` numbers from the first rank to all, and read them."""
    numbers = like.new_empty(size, dtype=torch.int32, requires_grad=False)
    numbers.copy_(torch.zeros(size, dtype=torch.int32), non_blocking=True)
    group.broadcast([numbers], dist.BroadcastOptions()).wait()
    numbers.cpu()
