# SPDX-License-Identifier: BSD-3-Clause
"""table.py: all ways to put a pattern into a trace."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lab import _lab
from benchmarks.lab.corpus.perturbation import copies, kernels, pauses, waits
from benchmarks.lab.corpus.perturbation.drawing import Draw
from benchmarks.lab.corpus.perturbation.scene import Scene

#: By pattern, then by mechanism: makes the perturbation, empty where a trace has no
#: place for it.
MECHANISMS: dict[str, dict[str, Callable[[Scene, Draw], _lab.Perturbation]]] = {
    "sync_stall": waits.MECHANISMS,
    "dataloader_bound": pauses.DATALOADER,
    "gc_pause": pauses.GC,
    "host_bound_python": pauses.PYTHON,
    "recompile_or_lazy_load": pauses.LOADING,
    "allocator_churn": pauses.ALLOCATOR,
    "frequent_memcpy": copies.MEMCPY,
    "pageable_copy": copies.PAGEABLE,
    "exposed_copy": copies.EXPOSED,
    "comm_exposed": kernels.COLLECTIVES,
    "unfused_optimizer": kernels.OPTIMIZER,
    "redundant_d2d": kernels.COPIES_ON_DEVICE,
}

#: How often each is drawn, roughly as often as the public traces have them.
WEIGHTS = {
    "sync_stall": 4.0,
    "dataloader_bound": 2.0,
    "gc_pause": 1.0,
    "host_bound_python": 3.0,
    "recompile_or_lazy_load": 1.5,
    "allocator_churn": 1.0,
    "frequent_memcpy": 2.0,
    "pageable_copy": 1.5,
    "exposed_copy": 1.5,
    "comm_exposed": 2.0,
    "unfused_optimizer": 1.5,
    "redundant_d2d": 2.0,
}


#: How much more often where a trace can have them at all, as few can.
RARE = {"gc_pause": 2.0, "comm_exposed": 3.0, "unfused_optimizer": 3.0}


def can_have(scene: Scene, pattern: str) -> bool:
    """Tell whether a trace has what a pattern needs: collectives, frames, kernels of
    many tensors."""
    if pattern == "gc_pause":
        return scene.has_frames
    if pattern == "comm_exposed":
        names = (str(scene.names[row]) for row in scene.work)
        return any(name.startswith(("nccl", "rccl")) for name in names)
    if pattern == "unfused_optimizer":
        return any("multi_tensor_apply" in scene.names[row] for row in scene.work)
    return True
