# SPDX-License-Identifier: BSD-3-Clause
"""launch.py: a kernel that an operator launches, and what operators work on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torchtraceap_dryrun.record import Op, TensorInfo

#: What one block of an elementwise kernel works on: 128 threads, 4 elements each
#: (ATen/native/cuda/Loops.cuh).
ELEMENTS_PER_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel, copy or memset on the device."""

    name: str  #: Of the operator, and which of its kernels where it has several.
    work: str  #: The class: a row of the table in kernel_time.py.
    dtype: str  #: What it computes in, as torch names it, or "tf32".
    flops: float  #: 0 where memory alone decides.
    nbytes: float  #: Moved: read and written.
    blocks: int | None = None  #: The size of the grid, where it is known.
    by_default: bool = False  #: No rule knows the operator: taken as elementwise.

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel; copies and memsets are none."""
        return self.work not in ("memcpy", "memset")


def tensors(value: Any) -> Iterator[TensorInfo]:
    """Give the tensors on the device within an argument."""
    if isinstance(value, TensorInfo):
        if value.device == "cuda":
            yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


def inputs(op: Op) -> list[TensorInfo]:
    """Return the tensors on the device that it takes, but not those for results."""
    named = (value for name, value in op.kwargs.items() if not name.startswith("out"))
    return [*tensors(op.args), *tensors(tuple(named))]


def argument(op: Op, place: int, name: str, default: Any = None) -> Any:
    """Return an argument given by place or by name."""
    if len(op.args) > place:
        return op.args[place]
    return op.kwargs.get(name, default)


def nbytes(several: Iterable[TensorInfo]) -> int:
    """Return the bytes of several tensors."""
    return sum(t.nbytes for t in several)


def results(op: Op) -> tuple[TensorInfo, ...]:
    """Return the results on the device, including a tensor changed in place."""
    return tuple(tensors(op.outputs)) or tuple(tensors(op.args[:1]))


def numel(op: Op) -> int:
    """Return the number of elements of its largest result."""
    return max((t.numel for t in results(op)), default=0)


def dtype(op: Op) -> str:
    """Return the data type that decides: of its first result, else input."""
    for found in (*results(op), *inputs(op)):
        return found.dtype
    return "float32"


def blocks(elements: int, each: int = ELEMENTS_PER_BLOCK) -> int:
    """Return the number of blocks for ``elements`` elements."""
    return max(1, math.ceil(elements / each))


def same_order(one: TensorInfo, other: TensorInfo) -> bool:
    """Return whether two tensors of one shape lie in memory in the same order."""

    # Strides of dimensions of size 1 do not matter.
    def strides(t: TensorInfo) -> list[int]:
        return [step for size, step in zip(t.shape, t.stride, strict=True) if size > 1]

    return one.shape == other.shape and strides(one) == strides(other)


def is_dense(t: TensorInfo) -> bool:
    """Return whether its elements fill a stretch of memory, in any order."""
    steps = sorted(
        (step, size) for size, step in zip(t.shape, t.stride, strict=True) if size > 1
    )
    reach = 1
    for step, size in steps:
        if step != reach:
            return False
        reach *= size
    return True
