# SPDX-License-Identifier: BSD-3-Clause
"""waits.py: the host waits for the device."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lab import _lab
from benchmarks.lab.corpus.perturbation.drawing import (
    Draw,
    Place,
    insertion,
    jitter,
    places,
    quiet,
)
from benchmarks.lab.corpus.perturbation.scene import Scene

COPY = _lab.TaskKind.COPY
_LEAST_NS = 1_500  # What the smallest copies take on the device.


def _read(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion) -> None:
    # What .item() does: reads a number through a small copy, and waits for it.
    where = scene.stream(draw.thread, at.at)
    args = scene.args_like(at.row, "[[]]")
    made.open("aten::item", args=args)
    made.host(jitter(draw, 800))
    made.open("aten::_local_scalar_dense", args=args)
    made.host(jitter(draw, 2_500))
    read_back(scene, draw, made, where, 4)
    made.host(jitter(draw, 700))
    made.close()
    made.close()


def read_back(
    scene: Scene, draw: Draw, made: _lab.Insertion, where: dict[str, int], size: int
) -> None:
    """Copy to the host and wait. HIP does both in one call."""
    ns = max(_LEAST_NS, int(size / 8))  # 8 GB/s
    if scene.is_amd:
        made.launch(
            "hipMemcpyWithStream", jitter(draw, 9_000), COPY,
            "Memcpy DtoH (Device -> Host)", jitter(draw, ns), bytes=size, waits=True,
            call_args=scene.call_args("hipMemcpyWithStream"),
            work_args='"kind": "DtoH"', **where,
        )  # fmt: skip
        return
    name = "Memcpy DtoH (Device -> Pageable)"
    made.launch(
        "cudaMemcpyAsync", jitter(draw, 8_000), COPY, name, jitter(draw, ns),
        bytes=size, waits=True, call_args=scene.call_args("cudaMemcpyAsync"),
        work_args=bandwidth(size, ns), **where,
    )  # fmt: skip
    synchronize(scene, draw, made, "StreamSynchronize", where)


def synchronize(
    scene: Scene, draw: Draw, made: _lab.Insertion, what: str, where: dict[str, int]
) -> None:
    """Wait for a stream, or with ``DeviceSynchronize`` for its device."""
    name = scene.call_name(what)
    made.sync(
        name, jitter(draw, 3_500), whole_device=what.startswith("Device"),
        args=scene.call_args(name), **where,
    )  # fmt: skip


def bandwidth(size: int, ns: int) -> str:
    """Return what a copy says of its speed, and of its context."""
    return f'"context": 1, "memory bandwidth (GB/s)": {size / max(1, ns)}'


def _truth(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion) -> None:
    made.open("aten::is_nonzero", args=scene.args_like(at.row, "[[1]]"))
    made.host(jitter(draw, 600))
    _read(scene, draw, at, made)
    made.close()


def _to_host(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion) -> None:
    size = 4 << int(draw.rng.integers(0, 14))
    args = scene.args_like(at.row, f"[[{size // 4}]]")
    made.open("aten::to", args=args)
    made.open("aten::_to_copy", args=args)
    made.open("aten::empty_strided", args=scene.args_like(at.row, "[]"))
    made.host(jitter(draw, 2_000))
    made.close()
    made.open("aten::copy_", args=args)
    made.host(jitter(draw, 2_500))
    read_back(scene, draw, made, scene.stream(draw.thread, at.at), size)
    made.close()
    made.close()
    made.close()


def _device(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion) -> None:
    where = scene.stream(draw.thread, at.at)
    synchronize(scene, draw, made, "DeviceSynchronize", where)


def _stream(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion) -> None:
    where = scene.stream(draw.thread, at.at)
    synchronize(scene, draw, made, "StreamSynchronize", where)


def _event(scene: Scene, draw: Draw, at: Place, made: _lab.Insertion) -> None:
    made.event_sync(
        scene.call_name("EventRecord"), scene.call_name("EventSynchronize"),
        jitter(draw, 2_500), jitter(draw, 3_500), **scene.stream(draw.thread, at.at),
    )  # fmt: skip


def _everywhere(
    put: Callable[[Scene, Draw, Place, _lab.Insertion], None],
) -> Callable[[Scene, Draw], _lab.Perturbation]:
    def mechanism(scene: Scene, draw: Draw) -> _lab.Perturbation:
        out = _lab.Perturbation()
        if draw.null:
            chosen = quiet(scene, draw, int(draw.rng.integers(1, 6)), ahead=False)
        else:
            chosen = places(scene, draw)
        for place in chosen:
            made = insertion(scene, draw, place)
            put(scene, draw, place, made)
            out.insert(made)
        return out

    return mechanism


MECHANISMS = {
    "item": _everywhere(_read),
    "truth_of_a_tensor": _everywhere(_truth),
    "cpu": _everywhere(_to_host),
    "device_synchronize": _everywhere(_device),
    "stream_synchronize": _everywhere(_stream),
    "event_synchronize": _everywhere(_event),
}
