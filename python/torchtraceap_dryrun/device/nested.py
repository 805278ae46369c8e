# SPDX-License-Identifier: BSD-3-Clause
"""nested.py: the tensors among the arguments of operators. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among arguments, also in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


def map_tensors(values: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return arguments with their tensors changed."""
    if isinstance(values, Tensor):
        return change(values)
    if isinstance(values, list | tuple):
        return type(values)(map_tensors(value, change) for value in values)
    if isinstance(values, dict):
        return {key: map_tensors(value, change) for key, value in values.items()}
    return values


def pairs(ours: Any, theirs: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the tensors at the same places of two results: either may have None where
    the other has one, as for a gradient that nobody asked for."""
    if isinstance(ours, Tensor):
        if isinstance(theirs, Tensor):
            yield ours, theirs
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        for one, other in zip(ours, theirs, strict=False):
            yield from pairs(one, other)
