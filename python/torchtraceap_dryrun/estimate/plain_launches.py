# SPDX-License-Identifier: BSD-3-Clause
"""plain_launches.py: kernels that go over elements one by one, and copies."""

from __future__ import annotations

import math
from collections.abc import Callable

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import (
    Launch,
    argument,
    blocks,
    dtype,
    inputs,
    is_dense,
    nbytes,
    numel,
    results,
    same_order,
    tensors,
)
from torchtraceap_dryrun.record import Op, TensorInfo

Rule = Callable[[Op, Gpu], tuple[Launch, ...]]

# An index of 32 bits must reach each byte; larger tensors are halved until it does, a
# kernel for each part (TensorIterator::with_32bit_indexing).
_REACH = 2**31 - 1
# Rows of up to this many elements are sorted by one block.
_SHORT_ROW = 4096


def nothing(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Launches nothing: a view, memory without content, a value read back."""
    return ()


def check(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Looks at one value and gives nothing."""
    return (Launch(op.name, "elementwise", dtype(op), 0.0, moved(op), blocks(1)),)


def _parts(op: Op) -> int:
    largest = max((t.nbytes for t in (*inputs(op), *results(op))), default=0)
    return 1 << max(0, math.ceil(math.log2(max(largest, 1) / _REACH)))


def moved(op: Op) -> int:
    """Return the bytes that it reads and writes, each once."""
    return nbytes(inputs(op)) + nbytes(results(op))


def pointwise(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """One kernel over the elements; slower if its tensors are not laid out alike.

    Then each element's place is worked out, and nothing is read in one go
    (gpu_kernel_impl in ATen/native/cuda/CUDALoops.cuh).
    """
    target = results(op)[0] if results(op) else None
    alike = target is None or all(
        t.numel == 1 or (same_order(t, target) and is_dense(t)) for t in inputs(op)
    )
    return one("elementwise" if alike else "strided")(op, gpu)


def reduction(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """A sum or the like: one kernel, or two where whole numbers are widened first."""
    given = inputs(op)
    if not given:
        return one("reduce")(op, gpu)
    x, rank = given[0], len(given[0].shape)
    # A norm's order comes before its dimensions.
    along = argument(op, 2 if "norm" in op.name else 1, "dim")
    along = list(along or range(rank)) if not isinstance(along, int) else [along]
    columns = rank > 1 and not any(
        isinstance(d, int) and d % rank == rank - 1 for d in along
    )
    last = one("column_reduce" if columns else "reduce")(op, gpu)
    widened = results(op)[0] if results(op) else x
    widens = op.name.startswith(("aten::sum", "aten::prod")) and x.numel
    if not widens or widened.dtype != "int64" or x.dtype == "int64":
        return last
    cast = Launch(f"{op.name} cast", "elementwise", "int64", 0.0,
                  x.nbytes + 8.0 * x.numel, blocks(x.numel))  # fmt: skip
    return cast, *last


def one(work: str, part: str = "") -> Rule:
    """Return the rule: one kernel that reads all inputs and writes all results."""

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        if not numel(op):
            return ()
        pieces, size = _parts(op), numel(op)
        whole = Launch(
            op.name + part, work, dtype(op), 0.0, moved(op) / pieces,
            blocks(math.ceil(size / pieces)) if work != "reduce" else None,
        )  # fmt: skip
        return (whole,) * pieces

    return rule


def writes(work: str = "elementwise") -> Rule:
    """Return the rule: one kernel that writes the results and reads nothing."""

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        size = numel(op)
        written = nbytes(results(op)[:1])
        return (
            (Launch(op.name, work, dtype(op), 0.0, written, blocks(size)),)
            if size
            else ()
        )

    return rule


def chain(*works: str) -> Rule:
    """Return the rule: one kernel after the other, each over all the bytes."""

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        whole = max(nbytes(inputs(op)), nbytes(results(op)))
        return tuple(
            Launch(f"{op.name} {place}", work, dtype(op), 0.0, 2.0 * whole)
            for place, work in enumerate(works, 1)
        )

    return rule


def loss(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """A loss: a kernel for its terms, another for their sum if there is one."""
    terms = max(inputs(op), key=lambda t: t.numel)
    first = Launch(
        f"{op.name} terms", "elementwise", terms.dtype, 0.0,
        nbytes(inputs(op)) + terms.nbytes, blocks(terms.numel),
    )  # fmt: skip
    if numel(op) == terms.numel > 1:
        return (first,)
    total = Launch(f"{op.name} sum", "reduce", terms.dtype, 0.0, terms.nbytes)
    return first, total


def sort(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """Sorts rows: short ones in one kernel, after a copy and the numbering of places.

    Long ones digit by digit (ATen/native/cuda/Sort.cpp).
    """
    x = inputs(op)[0]
    last = argument(op, 1, "dim", -1)
    row = x.shape[last] if x.shape and isinstance(last, int) else x.numel
    short = ("memcpy", "elementwise", "sort")
    return chain(*(short if row <= _SHORT_ROW else ("sort",) * 4))(op, gpu)


def put(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
    """index_put_: one kernel; where it adds up, places are sorted before."""
    adds = argument(op, 3, "accumulate") is True
    last = touches("gather")(op, gpu)
    return (*chain(*("sort",) * 4)(op, gpu), *last) if adds else last


def touches(work: str, *, factor: float = 2.0) -> Rule:
    """Return the rule: one kernel that moves `factor` times the bytes of its result.

    For what picks rows of a large tensor, of which only those picked are read.
    """

    def rule(op: Op, gpu: Gpu) -> tuple[Launch, ...]:
        if not numel(op):
            return ()
        index = sum(t.nbytes for t in inputs(op) if t.dtype in ("int64", "int32"))
        bytes_ = factor * nbytes(results(op)[:1]) + index
        return (Launch(op.name, work, dtype(op), 0.0, bytes_, blocks(numel(op))),)

    return rule


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
