# SPDX-License-Identifier: BSD-3-Clause
"""list_launches.py: kernels of operators on lists of tensors (foreach, fused, AMP), and
of collectives.

One kernel takes as many tensors and chunks of tensors as fit into its arguments; the
limits are those of ATen/native/cuda/MultiTensorApply.cuh. Collectives are named as NCCL
names them, without the algorithm; their bytes are those that a ring sends over each
link (the "bus" of nccl-tests' PERFORMANCE.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import (
    Launch,
    blocks,
    dtype,
    inputs,
    nbytes,
    results,
    tensors,
)
from torchtraceap_dryrun.estimate.plain_launches import Rule, copied
from torchtraceap_dryrun.record import Op, TensorInfo

CHUNK = 65536  # Elements of a tensor that one block works on.
# Tensors and blocks of one kernel by the number of lists it takes. Those for arguments
# of 4 KB, of builds with CUDA 12; with CUDA 13 they are 32 KB and both about 7-fold.
MOST_TENSORS = (110, 64, 48, 36, 30)
MOST_TENSORS_WITH_NUMBERS = (96, 64, 48, 36, 30)
MOST_BLOCKS = 320


def filled(sizes: Sequence[int], most_tensors: int) -> Iterator[tuple[int, int]]:
    """Give blocks and elements of each kernel over tensors of these sizes.

    A kernel is launched when its tensors or its blocks are full; a tensor that is cut
    by that counts again in the next.
    """
    tensors_, blocks_, elements = 0, 0, 0
    for size in sizes:
        if not size:
            continue
        tensors_ += 1
        chunks = math.ceil(size / CHUNK)
        for chunk in range(chunks):
            blocks_ += 1
            last = chunk == chunks - 1
            elements += size - chunk * CHUNK if last else CHUNK
            if blocks_ == MOST_BLOCKS or (last and tensors_ == most_tensors):
                yield blocks_, elements
                tensors_, blocks_, elements = 0 if last else 1, 0, 0
    if blocks_:
        yield blocks_, elements


def _lists(op: Op) -> list[list[TensorInfo]]:
    several = [list(tensors(arg)) for arg in op.args if isinstance(arg, (tuple, list))]
    return [found for found in several if found]


def _launches(
    name: str, lists: list[list[TensorInfo]], passes: float, *, numbers: bool = False
) -> tuple[Launch, ...]:
    """Return the kernels over lists of equal length; each list is moved `passes`."""
    first = lists[0]
    depth = min(len(lists), len(MOST_TENSORS)) - 1
    most = (MOST_TENSORS_WITH_NUMBERS if numbers else MOST_TENSORS)[depth]
    size = sum(parts[0].item_bytes for parts in lists) * passes
    return tuple(
        Launch(name, "lists", first[0].dtype, 0.0, elements * size, grid)
        for grid, elements in filled([t.numel for t in first], most)
    )


def _one_by_one(op: Op, lists: list[list[TensorInfo]]) -> tuple[Launch, ...]:
    return tuple(
        Launch(op.name, "elementwise", t.dtype, 0.0,
               t.nbytes * (1.0 + len(lists)), blocks(t.numel))
        for t in lists[0] if t.numel
    )  # fmt: skip


def _fast(lists: list[list[TensorInfo]]) -> bool:
    """Whether torch takes the lists in one go: alike one by one, and no holes."""
    return all(len(parts) == len(lists[0]) for parts in lists) and all(
        part.shape == first.shape
        and part.stride == first.stride
        and part.dtype == lists[0][0].dtype
        for parts in lists
        for first, part in zip(lists[0], parts, strict=True)
    )


def foreach(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """An operation on each tensor of some lists."""
    lists = _lists(op)
    if not lists:
        return ()
    if not _fast(lists):
        return _one_by_one(op, lists)
    numbers = any(
        isinstance(arg, (tuple, list)) and arg and isinstance(arg[0], (int, float))
        for arg in op.args
    )
    in_place = op.name.endswith("_")
    if not in_place:
        lists.append(lists[0])
    # All are read and one is written: in place, one more than there are lists.
    passes = (len(lists) + in_place) / len(lists)
    return _launches(op.name, lists, passes, numbers=numbers)


def foreach_copy(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """_foreach_copy_: one kernel for all, or a copy for each."""
    target, source = [*_lists(op), [], []][:2]
    pairs = list(zip(source, target, strict=False))
    if not pairs:
        return ()
    if all(a.shape == b.shape and a.stride == b.stride for a, b in pairs):
        return _launches(op.name, [target, source], 1.0)
    return tuple(found for a, b in pairs for found in copied(op.name, a, b))


def foreach_norm(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """_foreach_norm: zeros for sums of chunks, the sums, and the sums of those."""
    lists = _lists(op)
    if not lists:
        return ()
    end = Launch(f"{op.name} end", "elementwise", "float32", 0.0, 0.0)
    return end, *_launches(op.name, lists, 1.0), end


def fused(lists_changed: int) -> Rule:
    """Return the rule of a fused optimizer, which writes `lists_changed` lists."""

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        lists = _lists(op)
        # The counters of steps are passed beside the others, and not in chunks.
        lists = lists if "sgd" in op.name else lists[:-1]
        if not lists:
            return ()
        passes = (len(lists) + lists_changed) / len(lists)
        return _launches(op.name, lists, passes)

    return rule


def unscale(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """_amp_foreach_non_finite_check_and_unscale_: reads and writes each gradient."""
    lists = _lists(op)[:1]
    return _launches(op.name, lists, 2.0) if lists else ()


# The kernel of an operator, by how its name begins.
_KERNELS = {
    "allreduce": "AllReduce_Sum",
    "allgather": "AllGather",
    "_allgather": "AllGather",
    "reduce_scatter": "ReduceScatter_Sum",
    "_reduce_scatter": "ReduceScatter_Sum",
    "broadcast": "Broadcast",
    "reduce_": "Reduce_Sum",
}
_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64"}


def collective(op: Op, _: Gpu) -> tuple[Launch, ...]:
    """One kernel; none where this rank is alone."""
    base = op.name.partition("::")[2]
    ranks = int(op.kwargs.get("world_size", 1))
    if ranks < 2:
        return ()
    found = (kernel for start, kernel in _KERNELS.items() if base.startswith(start))
    kernel = next(found, "SendRecv")
    size = max(nbytes(inputs(op)[: len(results(op)) or None]), nbytes(results(op)))
    share = (ranks - 1) / ranks
    if kernel == "AllReduce_Sum":
        share *= 2  # Each part is reduced on its way round, and then given to all.
    elif kernel.startswith(("Broadcast", "Reduce_")) or base.startswith("send"):
        share = 1.0
    kind = dtype(op)
    name = f"ncclDevKernel_{kernel}_{_TYPES.get(kind, kind)}_RING_LL"
    return (Launch(name, "collective", kind, 0.0, share * size),)
