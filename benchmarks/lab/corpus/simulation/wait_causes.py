# SPDX-License-Identifier: BSD-3-Clause
"""wait_causes.py: ways to make the host wait for the device."""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.host_causes import MAIN, places
from benchmarks.lab.corpus.simulation.inserting import Maker, at_end, evenly
from benchmarks.lab.corpus.simulation.items import Item, Steps
from benchmarks.lab.corpus.simulation.making import kernel_item
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from benchmarks.lab.corpus.simulation.place import Place
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
            # Where nobody waits, the end of the recording does.
            step.extend(make(number, 0))


def _blocks(item: Item) -> bool:
    return item.copy is not None and item.copy.blocking


def synchronize(steps: Steps, strength: float, place: Place) -> None:
    """``torch.cuda.synchronize()``."""

    def make(number: int, k: int) -> list[Item]:
        frames = (
            MAIN,
            "train.py(71): timed",
            "torch/cuda/__init__.py(783): synchronize",
        )
        return [Item(f"{place.tag}{k}", "wait", "device_sync", frames=frames,
                     captured=False, line="train.py:73")]  # fmt: skip

    if place.null:
        return behind_a_wait(steps, place, make)
    evenly(steps, places(strength, 16), make, ("forward", "optimizer"))


def wait_for_events(steps: Steps, strength: float, place: Place) -> None:
    """``event.synchronize()``."""

    def make(number: int, k: int) -> list[Item]:
        frames = (
            MAIN,
            "train.py(77): timed",
            "torch/cuda/streams.py(228): synchronize",
        )
        return [Item(f"{place.tag}{k}", "wait", "event_sync", frames=frames,
                     captured=False, line="train.py:79")]  # fmt: skip

    if place.null:
        return behind_a_wait(steps, place, make)
    evenly(steps, places(strength, 16), make, ("forward", "optimizer"))


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
