# SPDX-License-Identifier: BSD-3-Clause
"""table.py: which patterns are put into real traces, in which ways; puts them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.lab import _lab
from benchmarks.lab.corpus.perturbation import copies, kernels, pauses
from benchmarks.lab.corpus.perturbation.drawing import Draw
from benchmarks.lab.corpus.perturbation.outcome import Edits, Outcome, outcome
from benchmarks.lab.corpus.perturbation.scene import Scene

#: By pattern, then by mechanism: makes the perturbation, empty where a trace has no
#: place for it.
MECHANISMS: dict[str, dict[str, Callable[[Scene, Draw], _lab.Perturbation]]] = {
    "sync_stall": copies.WAITS,
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


#: Of a window: below, nothing was lost.
NOTHING = 0.02
#: Outermost operators that a thread must have run to have anything put in.
LEAST_OPERATORS = 20
_TRIES = 6
# The core's messages for a place where nothing fits: inside a call, or a wait for work
# that is launched later, as inferred dependencies may have it.
_NO_PLACE = ("insertion", "waits forever")


@dataclass(frozen=True)
class Inserted:
    """What was drawn, and what it came to."""

    pattern: str
    mechanism: str
    strength: float
    result: Outcome


def insert(
    scene: Scene, natural: dict[str, Edits], rng: np.random.Generator, null: bool
) -> Inserted | None:
    """Put something into a trace.

    Args:
        scene: The trace.
        natural: What natural_patterns() returned.
        rng: For all that is drawn.
        null: It is to cost no window anything.

    Returns:
        None if nothing that was drawn fitted.
    """
    patterns = [name for name in MECHANISMS if can_have(scene, name)]
    weights = np.array([WEIGHTS[name] * RARE.get(name, 1.0) for name in patterns])
    for _ in range(_TRIES):
        pattern = str(rng.choice(patterns, p=weights / weights.sum()))
        mechanism = str(rng.choice(sorted(MECHANISMS[pattern])))
        draw = _draw(scene, rng, null)
        try:
            perturbation = MECHANISMS[pattern][mechanism](scene, draw)
            if not len(perturbation):
                continue
            result = outcome(scene, natural, perturbation, pattern)
        except ValueError as place:  # inside a call, in a wait for another thread
            if not any(word in str(place) for word in _NO_PLACE):
                raise
            continue
        if null and result.windows.max() >= NOTHING:
            continue
        return Inserted(pattern, mechanism, round(draw.strength, 4), result)
    return None


def _draw(scene: Scene, rng: np.random.Generator, null: bool) -> Draw:
    threads = [t for t in scene.threads if len(scene.operators(t)) >= LEAST_OPERATORS]
    weights = np.array([thread.launches for thread in threads], dtype=float)
    thread = threads[int(rng.choice(len(threads), p=weights / weights.sum()))]
    rows = scene.operators(thread)
    # A stretch of its operators, at least 20 of them.
    count = len(rows)
    share = max(LEAST_OPERATORS / count, float(rng.uniform(0.08, 0.5)))
    taken = min(count, max(LEAST_OPERATORS, int(share * count)))
    first = int(rng.integers(count - taken + 1))
    begin, end = int(scene.ts[rows[first]]), int(scene.end[rows[first + taken - 1]])
    return Draw(rng, float(rng.uniform()), null, thread, begin, end)
