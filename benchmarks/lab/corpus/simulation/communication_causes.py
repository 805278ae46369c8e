# SPDX-License-Identifier: BSD-3-Clause
"""communication_causes.py: collectives too late, too many, too slow, and late ranks."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.lab.corpus.simulation.host_causes import places
from benchmarks.lab.corpus.simulation.inserting import (
    after_backward,
    evenly,
    some_steps,
)
from benchmarks.lab.corpus.simulation.items import Item, Place, Step, Steps


def _reductions(step: Step) -> list[int]:
    return [i for i, item in enumerate(step) if item.kind == "reduce"]


def _split(item: Item, many: int, tag: str) -> list[Item]:
    """Cut a collective into several; each has its own latency."""
    each = max(9.0, item.us / many + 8.0)
    out = []
    for i in range(many):
        out.append(Item(f"{item.key}{tag}{i}", "reduce", item.name, item.phase,
                        us=each, nbytes=max(4, item.nbytes // many),
                        arrives=item.key))  # fmt: skip
    return out


def reduce_late(steps: Steps, strength: float, place: Place) -> None:
    """All gradients are reduced after the backward pass."""
    for step in steps.steps:
        at = _reductions(step)
        taken = at[-1:] if place.null else at[-max(1, round(len(at) * strength)) :]
        moved = [step[i] for i in taken]
        for item in moved:
            step.remove(item)
        end = after_backward(step)
        step[end:end] = moved


def reduce_last(steps: Steps, strength: float, place: Place) -> None:
    """The last bucket is the largest."""
    for step in steps.steps:
        _stretch(step, _reductions(step)[-1:], 1.0 if place.null else 1 + 4 * strength)


def reduce_slowly(steps: Steps, strength: float, place: Place) -> None:
    """The link between the ranks is slow."""
    for step in steps.steps:
        _stretch(step, _reductions(step), 1.0 if place.null else 1 + 4 * strength)


def _stretch(step: Step, places_: list[int], factor: float) -> None:
    for i in places_:
        old = step[i]
        step[i] = Item(old.key, "reduce", old.name, old.phase, us=old.us * factor,
                       nbytes=old.nbytes, late_us=old.late_us)  # fmt: skip


def reduce_singly(steps: Steps, strength: float, place: Place) -> None:
    """A collective for each parameter."""
    _cut(steps, 1 if place.null else places(strength, 40), place)


def reduce_in_pieces(steps: Steps, strength: float, place: Place) -> None:
    """Buckets far too small."""
    _cut(steps, 1 if place.null else places(strength, 16), place)


def _cut(steps: Steps, many: int, place: Place) -> None:
    if many < 2:
        return
    for step in steps.steps:
        for i in reversed(_reductions(step)):
            step[i : i + 1] = _split(step[i], many, place.tag)


def reduce_metrics(steps: Steps, strength: float, place: Place) -> None:
    """Metrics are averaged over ranks one by one, within the step."""
    many = 1 if place.null else places(strength, 30)

    def make(number: int, k: int) -> list[Item]:
        return [
            Item(f"{place.tag}{k}", "reduce", "allreduce", us=25.0, nbytes=4),
            Item(f"{place.tag}{k}j", "reduced", ""),
        ]

    evenly(steps, many, make, ("forward",))


def come_late(steps: Steps, strength: float, place: Place) -> None:
    """The other rank is slower in every step."""
    _late(steps, range(len(steps.steps)), strength, place)


def come_late_once(steps: Steps, strength: float, place: Place) -> None:
    """The other rank has a pause in one step."""
    _late(steps, [place.rng.randrange(len(steps.steps))], 1.5 * strength, place)


def come_late_at_times(steps: Steps, strength: float, place: Place) -> None:
    """The other rank has longer batches at times."""
    _late(steps, some_steps(steps, place.rng, 0.5), strength, place)


def _late(steps: Steps, numbers: Iterable[int], strength: float, place: Place) -> None:
    us = place.step_us * (0.002 if place.null else 0.05 + strength**2)
    for number in numbers:
        step = steps.steps[number]
        first = _reductions(step)[:1]
        for i in first:
            old = step[i]
            step[i] = Item(old.key, "reduce", old.name, old.phase, us=old.us,
                           nbytes=old.nbytes, late_us=old.late_us + us)  # fmt: skip
