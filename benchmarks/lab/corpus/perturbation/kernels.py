# SPDX-License-Identifier: BSD-3-Clause
"""kernels.py: longer or additional device work:
ranks that come late, an optimizer tensor by tensor, needless copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.lab import _lab
from benchmarks.lab.corpus.perturbation.copies import bandwidth
from benchmarks.lab.corpus.perturbation.drawing import (
    Draw,
    Place,
    insertion,
    jitter,
    places,
    quiet,
)
from benchmarks.lab.corpus.perturbation.scene import Scene

_KERNEL = _lab.TaskKind.KERNEL
# Kernels that represent the inserted work, by parts of their names, the best first.
_ELEMENTWISE = ("CUDAFunctor_add", "vectorized_elementwise_kernel", "elementwise")
#: Tensors that one multi-tensor kernel replaces: of small models and of large ones.
_TENSORS = ((4, 16), (16, 64), (64, 200))
_COPYING = ("direct_copy_kernel", "CatArrayBatchedCopy", "elementwise")


def _in_stretch(scene: Scene, draw: Draw, rows: list[int]) -> list[int]:
    # Those of the drawn stretch; all if there are none in it.
    inside = [row for row in rows if draw.begin <= scene.ts[row] <= draw.end]
    return inside or rows


def _late(which: str) -> Callable[[Scene, Draw], _lab.Perturbation]:
    def mechanism(scene: Scene, draw: Draw) -> _lab.Perturbation:
        out = _lab.Perturbation()
        names = ("nccl", "rccl", "ncclDevKernel", "ncclKernel")
        rows = [
            int(row) for row in scene.work if str(scene.names[row]).startswith(names)
        ]
        rows = _in_stretch(scene, draw, rows)
        if not rows:
            return out
        if which == "one_in_some":
            rows = rows[int(draw.rng.integers(3)) :: int(draw.rng.integers(3, 12))]
        if which == "first_of_some":  # a rank that falls behind once, and catches up
            rows = rows[: max(1, len(rows) // 8)]
        if draw.null:
            rows = rows[:2]
        share = 0.0005 if draw.null else draw.scaled(0.01, 1.0)
        for row in rows:
            out.lengthen(row, jitter(draw, share * draw.length / len(rows), 0.5))
        return out

    return mechanism


def _one_by_one(scene: Scene, draw: Draw) -> _lab.Perturbation:
    # Kernels of many tensors in the stretch, each as one a tensor.
    out = _lab.Perturbation()
    rows = [
        int(row)
        for row in scene.work
        if "multi_tensor_apply" in scene.names[row] and row in scene.launch_of
    ]
    rows = _in_stretch(scene, draw, rows)
    share = 0.02 if draw.null else min(1.0, draw.scaled(0.1, 3))
    rows = list(draw.rng.permutation(rows)[: max(1, round(len(rows) * share))])
    few, most = _TENSORS[int(draw.rng.integers(len(_TENSORS)))]
    for row in map(int, rows):
        _split(scene, draw, row, int(draw.rng.integers(few, most)), out)
    return out


def _split(
    scene: Scene, draw: Draw, row: int, count: int, out: _lab.Perturbation
) -> None:
    call = scene.launch_of[row]
    c = scene.trace.columns
    made = _lab.Insertion(
        scene.analysis, int(scene.pid[call]), int(scene.tid[call]), int(scene.ts[call])
    )
    each = max(1_300, int(scene.dur[row] / count))
    name, args = scene.kernel_like(draw.rng, *_ELEMENTWISE)
    for _ in range(count):
        made.open("aten::add_")
        made.host(jitter(draw, 4_000))
        made.launch(
            scene.names[call], jitter(draw, scene.launch_ns), _KERNEL, name,
            jitter(draw, each), device=int(c["device"][row]),
            stream=int(c["stream"][row]), work_args=args,
            call_args=scene.args_like(call),
        )  # fmt: skip
        made.host(jitter(draw, 1_000))
        made.close()
    made.stand_for(row)
    out.replace(row)
    out.insert(made)


def _copies(names: tuple[str, ...]) -> Callable[[Scene, Draw], _lab.Perturbation]:
    # The same data again, elsewhere on the device.
    def mechanism(scene: Scene, draw: Draw) -> _lab.Perturbation:
        out = _lab.Perturbation()
        chosen = quiet(scene, draw, 2, False) if draw.null else places(scene, draw)
        if not chosen:
            return out
        share = draw.scaled(0.02, 1.0) * draw.length / len(chosen)
        ns = 1_500 if draw.null else float(np.clip(share, 1_500, 3e6))
        for place in chosen:
            made = insertion(scene, draw, place)
            _copy(scene, draw, place, made, names, jitter(draw, ns))
            out.insert(made)
        return out

    return mechanism


def _copy(
    scene: Scene,
    draw: Draw,
    at: Place,
    made: _lab.Insertion,
    names: tuple[str, ...],
    ns: int,
) -> None:
    args = scene.args_like(at.row, f"[[{max(1, ns // 8)}, 128]]")
    where = scene.stream(draw.thread, at.at)
    for name in names:
        made.open(name, args=args)
        made.host(jitter(draw, 2_000))
    size = ns * 300  # 600 GB/s, read and written
    if names[-1] == "aten::copy_" and draw.rng.random() < 0.5:
        made.launch(
            scene.call_name("MemcpyAsync"), jitter(draw, scene.launch_ns),
            _lab.TaskKind.COPY, "Memcpy DtoD (Device -> Device)", ns, bytes=size,
            work_args='"kind": "DtoD"' if scene.is_amd else bandwidth(size, ns),
            call_args=scene.call_args(scene.call_name("MemcpyAsync")), **where,
        )  # fmt: skip
    else:
        name, args = scene.kernel_like(draw.rng, *_COPYING)
        made.launch(
            scene.launch_name, jitter(draw, scene.launch_ns), _KERNEL, name, ns,
            call_args=scene.call_args(scene.launch_name), work_args=args, **where,
        )  # fmt: skip
    for _ in names:
        made.close()


COLLECTIVES = {
    "late_each_step": _late("all"),
    "uneven_batches": _late("one_in_some"),
    "late_once": _late("first_of_some"),
}
OPTIMIZER = {
    "single_tensor": _one_by_one,
}
COPIES_ON_DEVICE = {
    "contiguous": _copies(("aten::contiguous", "aten::clone", "aten::copy_")),
    "clone": _copies(("aten::clone", "aten::copy_")),
    "cast": _copies(("aten::to", "aten::_to_copy", "aten::copy_")),
}
