# SPDX-License-Identifier: BSD-3-Clause
"""copies.py: the host waits for the device; data moved needlessly, or the slow way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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
    """Return the members with a copy's speed and context."""
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


WAITS = {
    "item": _everywhere(_read),
    "truth_of_a_tensor": _everywhere(_truth),
    "cpu": _everywhere(_to_host),
    "device_synchronize": _everywhere(_device),
    "stream_synchronize": _everywhere(_stream),
    "event_synchronize": _everywhere(_event),
}


_PAGEABLE = 5.5  # GB/s, of copies from pageable memory (measured: 3 to 9)
_PINNED = 20.0
_STAGED_BYTES = 64 * 1024


def upload(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, size: int, pinned: bool
) -> None:
    """Copy to the device as ``.to("cuda")`` does. From pageable memory the call takes
    as long as staging does, and beyond 64 KB waits for the copy."""
    args = scene.args_like(at.row, f"[[{max(1, size // 4)}]]")
    speed = _PINNED if pinned else _PAGEABLE
    ns = max(1_200, int(size / speed))
    for name in ("aten::to", "aten::_to_copy", "aten::copy_"):
        made.open(name, args=args)
        made.host(jitter(draw, 1_500))
    where = scene.stream(draw.thread, at.at)
    if scene.is_amd:
        name, call = "Memcpy HtoD (Host -> Device)", "hipMemcpyWithStream"
    else:
        kind = "Pinned" if pinned else "Pageable"
        name, call = f"Memcpy HtoD ({kind} -> Device)", "cudaMemcpyAsync"
    waits = not pinned and size > _STAGED_BYTES
    staging = 0 if pinned else int(min(size, _STAGED_BYTES) / 8)
    made.launch(
        call, jitter(draw, 6_000) + staging, COPY, name, ns, bytes=size, waits=waits,
        call_args=scene.call_args(call),
        work_args='"kind": "HtoD"' if scene.is_amd else bandwidth(size, ns), **where,
    )  # fmt: skip
    if not pinned and not scene.is_amd:
        synchronize(scene, draw, made, "StreamSynchronize", where)
    for _ in range(3):
        made.close()


def _small(pinned: bool) -> Callable[[Scene, Draw], _lab.Perturbation]:
    def mechanism(scene: Scene, draw: Draw) -> _lab.Perturbation:
        out = _lab.Perturbation()
        each = int(draw.rng.integers(1, 9))
        chosen = (
            quiet(scene, draw, int(draw.rng.integers(1, 4)), ahead=pinned)
            if draw.null
            else places(scene, draw, most=200)
        )
        for place in chosen:
            made = insertion(scene, draw, place)
            for _ in range(1 if draw.null else each):
                size = 4 << int(draw.rng.integers(0, 13))
                upload(scene, draw, place, made, size, pinned)
            out.insert(made)
        return out

    return mechanism


def _down_and_up(scene: Scene, draw: Draw) -> _lab.Perturbation:
    # .cpu() here and .to("cuda") right after: device ping-pong.
    out = _lab.Perturbation()
    quiet_places = quiet(scene, draw, int(draw.rng.integers(1, 4)), ahead=False)
    for place in quiet_places if draw.null else places(scene, draw, most=150):
        made = insertion(scene, draw, place)
        size = 256 << int(draw.rng.integers(0, 8))
        made.open("aten::to", args=scene.args_like(place.row, f"[[{size // 4}]]"))
        made.host(jitter(draw, 3_000))
        read_back(scene, draw, made, scene.stream(draw.thread, place.at), size)
        made.close()
        upload(scene, draw, place, made, size, pinned=False)
        out.insert(made)
    return out


Put = Callable[[Scene, Draw, Place, _lab.Insertion, int], None]


def _large(
    where: Callable[[Scene, Draw], list[Place]],
) -> Callable[[Scene, Draw], _lab.Perturbation]:
    put = partial(upload, pinned=False)
    return _copied(where, put, 1.0, _PAGEABLE, (16_384, 1e5, 512e6))


def _late(
    where: Callable[[Scene, Draw], list[Place]], down: bool = False
) -> Callable[[Scene, Draw], _lab.Perturbation]:
    # Pinned and without a wait, but on the stream of the kernels, which wait for it.
    put = _send_back if down else partial(upload, pinned=True)
    return _copied(where, put, 0.8, _PINNED, (4_096, 1e6, 2e9))


def _copied(
    where: Callable[[Scene, Draw], list[Place]],
    put: Put,
    most: float,
    speed: float,
    sizes: tuple[int, float, float],
) -> Callable[[Scene, Draw], _lab.Perturbation]:
    """Return a mechanism of large copies, as long together as the strength says.

    Args:
        where: Tells the places; null: two quiet ones.
        most: Share of the trace's length at full strength.
        speed: GB/s.
        sizes: Bytes of a copy: null, at least, at most.
    """
    null, least, largest = sizes

    def mechanism(scene: Scene, draw: Draw) -> _lab.Perturbation:
        out = _lab.Perturbation()
        chosen = quiet(scene, draw, 2, ahead=False) if draw.null else where(scene, draw)
        if not chosen:
            return out
        share = draw.scaled(0.02, most) * draw.length / len(chosen)
        size = null if draw.null else int(min(largest, max(least, share * speed)))
        for place in chosen:
            made = insertion(scene, draw, place)
            put(scene, draw, place, made, size)
            out.insert(made)
        return out

    return mechanism


def _send_back(
    scene: Scene, draw: Draw, at: Place, made: _lab.Insertion, size: int
) -> None:
    ns = max(1_200, int(size / _PINNED))
    kind = "Host" if scene.is_amd else "Pinned"
    call = scene.call_name("MemcpyAsync")
    made.open("aten::copy_", args=scene.args_like(at.row, f"[[{size // 4}]]"))
    made.host(jitter(draw, 2_500))
    made.launch(
        call, jitter(draw, 6_000), COPY, f"Memcpy DtoH (Device -> {kind})", ns,
        bytes=size, call_args=scene.call_args(call),
        work_args='"kind": "DtoH"' if scene.is_amd else bandwidth(size, ns),
        **scene.stream(draw.thread, at.at),
    )  # fmt: skip
    made.close()


def _layers(scene: Scene, draw: Draw) -> list[Place]:
    return places(scene, draw, most=60)


def _few(scene: Scene, draw: Draw) -> list[Place]:
    return some(scene, draw, int(draw.rng.integers(1, 12)))


def _unpinned(scene: Scene, draw: Draw) -> _lab.Perturbation:
    # What was pinned is pageable: longer by the link's rate, and the host waits.
    out = _lab.Perturbation()
    c = scene.trace.columns
    pinned = [
        int(row)
        for row in scene.work
        if "Pinned -> Device" in scene.names[row]
        and row in scene.launch_of
        and draw.begin <= scene.ts[row] <= draw.end
    ]
    fewer = max(1, round(len(pinned) * min(1.0, draw.scaled(0.2, 2))))
    for row in draw.rng.permutation(pinned)[:fewer]:
        call = scene.launch_of[int(row)]
        size = max(4, int(scene.dur[row] * _PINNED))
        made = _lab.Insertion(
            scene.analysis, int(scene.pid[call]), int(scene.tid[call]),
            int(scene.ts[call]),
        )  # fmt: skip
        ns = max(int(scene.dur[row]), int(size / _PAGEABLE))
        name = scene.names[row].replace("Pinned", "Pageable")
        made.launch(
            scene.names[call], int(scene.dur[call]), COPY, name, ns, bytes=size,
            waits=size > _STAGED_BYTES, device=int(c["device"][row]),
            stream=int(c["stream"][row]), work_args=bandwidth(size, ns),
            call_args=scene.args_like(call),
        )  # fmt: skip
        made.stand_for(int(row))
        out.replace(int(row))
        out.insert(made)
    return out


MEMCPY = {
    "small_uploads": _small(pinned=False),
    "small_pinned_uploads": _small(pinned=True),
    "ping_pong": _down_and_up,
}
EXPOSED = {
    "late_batch": _late(steps),
    "late_weights": _late(_layers),
    "late_results": _late(steps, down=True),
}
PAGEABLE = {
    "batch_upload": _large(steps),
    "upload_now_and_then": _large(_few),
    "unpinned": _unpinned,
}
