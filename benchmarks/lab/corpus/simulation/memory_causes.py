# SPDX-License-Identifier: BSD-3-Clause
"""memory_causes.py: ways to make the host wait for the device, copies between both, and
the allocator."""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.host_causes import MAIN, places
from benchmarks.lab.corpus.simulation.inserting import (
    Maker,
    at_begin,
    at_end,
    evenly,
    kernel_item,
    some_steps,
)
from benchmarks.lab.corpus.simulation.items import Item, Place, RuntimeCall, Steps
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from torchtraceap_dryrun.record import Copy


def read_scalars(steps: Steps, strength: float, place: Place) -> None:
    """``x.item()`` here and there; null: once, where the device is done anyway."""

    def make(number: int, k: int) -> list[Item]:
        copy = Copy("d2h", 4, pinned=place.rng.random() < 0.5, blocking=True)
        return [
            Item(f"{place.tag}{k}", "op", "aten::_local_scalar_dense",
                 outer=("aten::item",), args=shapes_text([[]]), copy=copy,
                 frames=(MAIN, "train.py(58): log_loss"), captured=False,
                 line="train.py:60")
        ]  # fmt: skip

    if place.null:
        return behind_a_wait(steps, place, make)
    evenly(steps, places(strength, 24), make, ("forward", "optimizer"))


def behind_a_wait(steps: Steps, place: Place, make: Maker) -> None:
    """Put items in directly behind a wait that is part of the program."""
    for number, step in enumerate(steps.steps):
        waits = [i for i, it in enumerate(step) if it.kind == "wait" or _blocks(it)]
        if waits:
            at = waits[place.rng.randrange(len(waits))] + 1
            step[at:at] = make(number, 0)
        elif number == len(steps.steps) - 1:
            # Without another wait, the end of the recording waits.
            step.extend(make(number, 0))


def _blocks(item: Item) -> bool:
    return item.copy is not None and item.copy.blocking


def _explicitly(steps: Steps, strength: float, place: Place, kind: str, line: int,
                frame: str) -> None:  # fmt: skip
    frames = (MAIN, f"train.py({line}): timed", frame)

    def make(number: int, k: int) -> list[Item]:
        return [Item(f"{place.tag}{k}", "wait", kind, frames=frames, captured=False,
                     line=f"train.py:{line + 2}")]  # fmt: skip

    if place.null:
        return behind_a_wait(steps, place, make)
    evenly(steps, places(strength, 16), make, ("forward", "optimizer"))


def synchronize(steps: Steps, strength: float, place: Place) -> None:
    """``torch.cuda.synchronize()``."""
    frame = "torch/cuda/__init__.py(783): synchronize"
    _explicitly(steps, strength, place, "device_sync", 71, frame)


def wait_for_events(steps: Steps, strength: float, place: Place) -> None:
    """``event.synchronize()``."""
    frame = "torch/cuda/streams.py(228): synchronize"
    _explicitly(steps, strength, place, "event_sync", 77, frame)


def find_rows(steps: Steps, strength: float, place: Place) -> None:
    """``x[mask]``: how many rows there are has to be known on the host."""

    def make(number: int, k: int) -> list[Item]:
        found = kernel_item(f"{place.tag}{k}", "aten::nonzero", "reduce", 65536,
                            outer=("aten::index",), captured=False)  # fmt: skip
        found.copy = Copy("d2h", 8, pinned=False, blocking=True)
        found.frames = (MAIN, "train.py(83): select_rows")
        found.line = "train.py:84"
        return [found]

    if place.null:
        return behind_a_wait(steps, place, make)
    evenly(steps, places(strength, 16), make)


def read_loss(steps: Steps, strength: float, place: Place) -> None:
    """The loss is read once at the end of each step, as many programs do."""
    copy = Copy("d2h", 4, pinned=False, blocking=True)
    at_end(
        steps,
        lambda n, k: [Item(f"{place.tag}{k}", "op", "aten::_local_scalar_dense",
                           outer=("aten::item",), args=shapes_text([[]]), copy=copy,
                           frames=(MAIN,), captured=False, line="train.py:50")],
    )  # fmt: skip


_LINK = 16e3  # Bytes a us: what sizes are chosen by.


def _copy(
    place: Place, k: int, copy: Copy, function: str, line: int, *, held: bool = False
) -> Item:
    return Item(
        f"{place.tag}{k}", "op", "aten::copy_", outer=("aten::to", "aten::_to_copy"),
        args=shapes_text([[copy.nbytes // 4], []]), copy=copy, captured=held,
        frames=(MAIN, f"train.py({line}): {function}"), line=f"train.py:{line + 1}",
    )  # fmt: skip


def upload_often(steps: Steps, strength: float, place: Place) -> None:
    """Many small tensors come from the host; null: from pinned memory, no wait."""

    def make(number: int, k: int) -> list[Item]:
        copy = Copy("h2d", 256 << place.rng.randrange(6), place.null, not place.null)
        return [_copy(place, k, copy, "move_targets", 110)]

    evenly(steps, 2 if place.null else places(strength, 120), make)


def download_often(steps: Steps, strength: float, place: Place) -> None:
    """Many small results go to the host."""

    def make(number: int, k: int) -> list[Item]:
        copy = Copy("d2h", 128 << place.rng.randrange(6), False, True)
        return [_copy(place, k, copy, "collect_outputs", 117)]

    if place.null:
        return behind_a_wait(steps, place, make)
    evenly(steps, places(strength, 60), make, ("forward", "optimizer"))


def upload_constants(steps: Steps, strength: float, place: Place) -> None:
    """A factor for each parameter is made on the host and copied."""

    def make(number: int, k: int) -> list[Item]:
        copy = Copy("h2d", 4 * (1 + place.rng.randrange(512)), place.null,
                    not place.null)  # fmt: skip
        frames = (MAIN, "train.py(124): scale_gradients")
        made = Item(f"{place.tag}full{k}", "pause", "", us=6.0, rows=("aten::full",),
                    frames=frames, captured=False)  # fmt: skip
        return [made, _copy(place, k, copy, "scale_gradients", 124)]

    many = 2 if place.null else places(strength, 90)
    evenly(steps, many, make, ("optimizer",))


def _large(strength: float, place: Place) -> int:
    share = 0.1 + 0.8 * strength**2
    return max(1 << 17, int(place.step_us * share * _LINK * 0.35))


def _upload(nbytes: int, place: Place) -> Copy:
    harmless = place.null or place.fixed
    return Copy("h2d", nbytes, pinned=harmless, blocking=not harmless)


def upload_pageable(steps: Steps, strength: float, place: Place) -> None:
    """The batch comes from pageable memory; null: from pinned, beside the work."""
    nbytes = _large(strength, place) if not place.null else 1 << 16
    copy = _upload(nbytes, place)
    at_begin(steps, lambda n, k: [_copy(place, k, copy, "move_batch", 131)])


def offload_pageable(steps: Steps, strength: float, place: Place) -> None:
    """Activations or optimizer state come back from pageable memory, piece by piece."""
    nbytes = _large(strength, place) // 4 if not place.null else 1 << 14
    copy = _upload(nbytes, place)
    make = lambda n, k: [_copy(place, k, copy, "fetch_state", 138)]  # noqa: E731
    evenly(steps, 1 if place.null else 4, make, ("optimizer", "forward"))


def download_pageable(steps: Steps, strength: float, place: Place) -> None:
    """Outputs go to pageable memory at the end of each step."""
    nbytes = _large(strength, place) if not place.null else 4
    copy = Copy("d2h", nbytes, place.fixed, not place.fixed)
    make = lambda n, k: [_copy(place, k, copy, "keep_outputs", 145)]  # noqa: E731
    if place.null:
        return behind_a_wait(steps, place, make)
    at_end(steps, make)


def _late(strength: float, place: Place, direction: str, many: int = 1) -> Copy:
    nbytes = 1 << 14
    if not place.null:
        share = 0.05 + 0.8 * strength**2
        nbytes = max(1 << 18, int(place.step_us * share * _LINK * 0.8 / many))
    return Copy(direction, nbytes, pinned=True, blocking=False)


def upload_late(steps: Steps, strength: float, place: Place) -> None:
    """The batch comes from pinned memory, but on the stream that waits for it."""
    copy = _late(strength, place, "h2d")
    at_begin(steps, lambda n, k: [_copy(place, k, copy, "move_batch", 132)])


def download_late(steps: Steps, strength: float, place: Place) -> None:
    """Outputs or a checkpoint go to the host before the device may go on."""
    copy = _late(strength, place, "d2h")
    at_end(steps, lambda n, k: [_copy(place, k, copy, "keep_snapshot", 146)])


def upload_weights_late(steps: Steps, strength: float, place: Place) -> None:
    """Weights that are kept on the host come layer by layer, each when it is needed."""
    many = 6
    copy = _late(strength, place, "h2d", many)
    make = lambda n, k: [_copy(place, k, copy, "fetch_layer", 139)]  # noqa: E731
    evenly(steps, 1 if place.null else many, make)


def allocate(steps: Steps, strength: float, place: Place) -> None:
    """Memory is taken from the driver and given back, again and again."""
    many = 1 if place.null else places(strength, 24)
    calls = (RuntimeCall("cudaMalloc", 4.0 if place.null else 180.0),)
    if not place.null:
        calls += (RuntimeCall("cudaFree", 110.0, drains=True),)
    evenly(
        steps,
        many,
        lambda n, k: [Item(f"{place.tag}{k}", "call", "", calls=calls,
                           rows=("aten::empty",), captured=False)],
    )  # fmt: skip


def empty_cache(steps: Steps, strength: float, place: Place) -> None:
    """``torch.cuda.empty_cache()``: what was freed has to be taken again."""
    many = 1 if place.null else places(strength, 20)
    us = 4.0 if place.null else 120.0
    frees = tuple(
        RuntimeCall("cudaFree", us, drains=not place.null) for _ in range(many)
    )
    takes = tuple(RuntimeCall("cudaMalloc", us * 1.5) for _ in range(many))

    def make(number: int, k: int) -> list[Item]:
        frames = (MAIN, "train.py(152): clean_up",
                  "torch/cuda/memory.py(170): empty_cache")  # fmt: skip
        return [Item(f"{place.tag}free", "call", "", calls=frees, frames=frames,
                     captured=False, line="train.py:153")]  # fmt: skip

    at_end(steps, make)
    at_begin(
        steps,
        lambda n, k: [Item(f"{place.tag}take", "call", "", calls=takes,
                           rows=("aten::empty",), frames=(MAIN,), captured=False)],
    )  # fmt: skip


def retry_allocation(steps: Steps, strength: float, place: Place) -> None:
    """An allocation fails in some steps; the cache is emptied, it is tried again."""
    many = 1 if place.null else places(strength, 30)
    us = 4.0 if place.null else 150.0
    calls = [RuntimeCall("cudaMalloc", us)]
    calls += [RuntimeCall("cudaFree", us, drains=not place.null)] * many
    calls += [RuntimeCall("cudaMalloc", us * 2)] * max(1, many // 2)
    item = lambda n, k: [Item(f"{place.tag}{k}", "call", "",  # noqa: E731
                              calls=tuple(calls), rows=("aten::empty",),
                              frames=(MAIN,), captured=False)]  # fmt: skip
    at_begin(steps, item, some_steps(steps, place.rng, 0.5))
