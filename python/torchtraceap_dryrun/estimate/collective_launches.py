# SPDX-License-Identifier: BSD-3-Clause
"""collective_launches.py: collectives as NCCL's kernels.

Named as NCCL names them, without the algorithm. Their bytes are those that a ring sends
over each link (the "bus" of nccl-tests' PERFORMANCE.md).
"""

from __future__ import annotations

from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launch import Launch, dtype, inputs, nbytes, results
from torchtraceap_dryrun.record import Op

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
