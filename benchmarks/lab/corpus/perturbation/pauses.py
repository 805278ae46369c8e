# SPDX-License-Identifier: BSD-3-Clause
"""pauses.py: a thread does something else meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.lab import _lab
from benchmarks.lab.corpus.perturbation.drawing import (
    Draw,
    Place,
    insertion,
    jitter,
    places,
    quiet,
    some,
    steps,
)
from benchmarks.lab.corpus.perturbation.scene import Scene

Put = Callable[[Scene, Draw, Place, _lab.Insertion, int], None]

_SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
_WORKERS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def _share_of(scene: Scene, draw: Draw, chosen: list[Place], least_ns: float) -> float:
    # The length of each pause, so that all take a share of the stretch: 2 to 150 %.
    if draw.null:
        lead = scene.lead(draw.thread, np.array([place.at for place in chosen]))
        return max(least_ns, 0.25 * float(lead.min()) / len(chosen))
    return max(least_ns, draw.scaled(0.02, 1.5) * draw.length / len(chosen))


def _pausing(
    put: Put, where: Callable[[Scene, Draw], list[Place]], least_ns: float
) -> Callable[[Scene, Draw], _lab.Perturbation]:
    def mechanism(scene: Scene, draw: Draw) -> _lab.Perturbation:
        out = _lab.Perturbation()
        count = int(draw.rng.integers(1, 4))
        chosen = quiet(scene, draw, count, True) if draw.null else where(scene, draw)
        if not chosen:
            return out
        ns = _share_of(scene, draw, chosen, least_ns)
        for place in chosen:
            made = insertion(scene, draw, place)
            put(scene, draw, place, made, jitter(draw, ns))
            out.insert(made)
        return out

    return mechanism


def _few(scene: Scene, draw: Draw) -> list[Place]:
    return some(scene, draw, int(draw.rng.integers(1, 9)))


# Loading: what the program asks of its loader, in a loop over batches.


def _loads(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int) -> None:
    made.open(_SINGLE, scene.category_like("enumerate(", "user_annotation"))
    args = scene.args_like(at.row, "[[3, 224, 224]]")
    samples = int(draw.rng.integers(2, 17))
    each = ns // (samples + 1)
    for _ in range(samples):  # decoded and changed one by one
        made.host(int(each * 0.6))
        for name, part in (
            ("aten::to", 0.1),
            ("aten::div", 0.15),
            ("aten::sub_", 0.15),
        ):
            made.host(max(500, int(each * part)), name, "cpu_op", args)
    made.open("aten::stack", args=args)
    made.host(max(500, int(each * 0.4)))
    made.host(max(500, int(each * 0.6)), "aten::cat", "cpu_op", args)
    made.close()
    made.close()


def _awaits_workers(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.host(ns, _WORKERS, scene.category_like("enumerate(", "user_annotation"))


def _loads_frames(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.open(_SINGLE, scene.category_like("enumerate(", "user_annotation"))
    if scene.has_frames:
        made.open("torch/utils/data/dataloader.py(716): _next_data", "python_function")
        made.open("torch/utils/data/_utils/fetch.py(49): fetch", "python_function")
    for _ in range(8):
        if scene.has_frames:
            made.host(ns // 8, "dataset.py(41): __getitem__", "python_function")
        else:
            made.host(ns // 8)
    if scene.has_frames:
        made.close()
        made.close()
    made.close()


# Garbage collection: seen only where Python frames were recorded.


def _collects(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.host(ns, "<built-in function collect>", "python_function")


def _collector(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.host(ns, "Python GC", "python_function")


# Python that has to be done before the next launch.


def _nothing(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.host(ns)


def _frames(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int) -> None:
    if not scene.has_frames:
        return made.host(ns)
    made.open("train.py(118): update_statistics", "python_function")
    for _ in range(6):
        made.host(ns // 12)
        made.host(ns // 12, "<built-in method format of str object>", "python_function")
    made.close()


def _small_operators(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    args = scene.args_like(at.row, "[[16]]")
    names = ("aten::select", "aten::as_strided", "aten::view", "aten::slice")
    left = ns
    for i in range(200):  # tensors of the host, taken to pieces
        length = min(left, jitter(draw, 4_000))
        made.host(length // 2, names[i % 4], "cpu_op", args)
        made.host(length - length // 2)
        left -= length
        if left <= 0:
            break
    if left > 0:
        made.host(left)


# Code that is loaded or compiled when it is first needed.


def _loads_module(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    name = "hipModuleLoadData" if scene.is_amd else "cuLibraryLoadData"
    made.call(name, ns, "cuda_runtime" if scene.is_amd else "cuda_driver")


def _slow_first_call(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.call("hipFuncGetAttributes" if scene.is_amd else "cudaFuncGetAttributes", ns)


def _compiles(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    made.open("_compile.compile_inner (dynamo_timed)", "user_annotation")
    made.host(ns // 4)
    made.host(
        ns // 2, "OutputGraph.call_user_compiler (dynamo_timed)", "user_annotation"
    )
    made.host(ns // 4)
    made.close()


# Memory from the driver, which the allocator should have kept.


def _allocates(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int
) -> None:
    name = scene.call_name("Malloc")
    made.call(name, ns, args=scene.call_args(name))


def _frees(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int) -> None:
    name, where = scene.call_name("Free"), scene.stream(draw.thread, at.at)
    args = scene.call_args(name)
    made.sync(name, ns // 2, whole_device=True, args=args, **where)
    _allocates(scene, draw, at, made, ns - ns // 2)


def _pins(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, ns: int) -> None:
    made.call(scene.call_name("HostAlloc" if not scene.is_amd else "HostMalloc"), ns)


DATALOADER = {
    "no_workers": _pausing(_loads, steps, 200_000),
    "slow_workers": _pausing(_awaits_workers, steps, 200_000),
    "slow_dataset": _pausing(_loads_frames, steps, 200_000),
}
GC = {
    "collect_each_step": _pausing(_collects, steps, 100_000),
    "collector": _pausing(_collector, _few, 100_000),
    "collect_rarely": _pausing(_collects, _few, 300_000),
}
PYTHON = {
    "bare": _pausing(_nothing, places, 3_000),
    "log_text": _pausing(_frames, places, 5_000),
    "small_operators": _pausing(_small_operators, places, 5_000),
}
LOADING = {
    "lazy_load": _pausing(_loads_module, _few, 300_000),
    "first_call": _pausing(_slow_first_call, _few, 2_000_000),
    "compile_again": _pausing(_compiles, _few, 2_000_000),
}
ALLOCATOR = {
    "malloc": _pausing(_allocates, places, 80_000),
    "malloc_free": _pausing(_frees, places, 80_000),
    "pinned_memory": _pausing(_pins, places, 100_000),
}
