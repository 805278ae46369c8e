# SPDX-License-Identifier: BSD-3-Clause
"""inserting.py: operators that no dry run saw, and where mechanisms put them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from benchmarks.lab.corpus.simulation.items import Item, Step, Steps
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from torchtraceap_dryrun.estimate.launch import Launch, blocks

#: Makes the items of one place; told which step and how-manieth place of it.
Maker = Callable[[int, int], list[Item]]


def evenly(
    steps: Steps, many: int, make: Maker, phases: tuple[str, ...] = ("forward",)
) -> None:
    """Insert items at `many` places of each step, evenly over its phases."""
    for number, step in enumerate(steps.steps):
        at = [i for i, item in enumerate(step) if item.phase in phases]
        at = at or list(range(len(step)))
        taken = sorted({at[(2 * k + 1) * len(at) // (2 * many)] for k in range(many)})
        _put(step, {place: make(number, k) for k, place in enumerate(taken)})


def at_end(steps: Steps, make: Maker, only: Iterable[int] | None = None) -> None:
    """Put items in at the end of each step, or of some."""
    for number in range(len(steps.steps)) if only is None else only:
        steps.steps[number].extend(make(number, 0))


def at_begin(steps: Steps, make: Maker, only: Iterable[int] | None = None) -> None:
    """The same at the begin."""
    for number in range(len(steps.steps)) if only is None else only:
        steps.steps[number][:0] = make(number, 0)


def in_optimizer(steps: Steps, make: Maker) -> None:
    """Put items in where the optimizer begins, else at the end of the step."""
    for number, step in enumerate(steps.steps):
        at = next(
            (i for i, item in enumerate(step) if item.phase == "optimizer"), len(step)
        )
        step[at:at] = make(number, 0)


def after_backward(step: Step) -> int:
    """Return where the backward pass of a step has ended."""
    last = max((i for i, it in enumerate(step) if it.phase == "backward"), default=-1)
    return last + 1


def some_steps(steps: Steps, rng: random.Random, share: float) -> list[int]:
    """Draw steps, at least one."""
    found = [n for n in range(len(steps.steps)) if rng.random() < share]
    return found or [rng.randrange(len(steps.steps))]


def _put(step: Step, made: dict[int, list[Item]]) -> None:
    for place in sorted(made, reverse=True):
        items = made[place]
        around = step[place]
        for item in items:
            item.frames = item.frames or around.frames[:2]
        step[place + 1 : place + 1] = items


def kernel_item(
    key: str,
    name: str,
    work: str,
    elements: int,
    *,
    us: float | None = None,
    reads: int = 2,
    outer: tuple[str, ...] = (),
    phase: str = "forward",
    grid: int | None = None,
    captured: bool = True,
    frames: tuple[str, ...] = (),
    line: str = "",
) -> Item:
    """Make an operator with one kernel over a number of floats.

    Args:
        us: What the kernel takes; None: 1.5 µs and what its memory takes on an A100.
        reads: How often each element is read or written.
        grid: Blocks; None: as many as such kernels have.
    """
    moved = 4.0 * elements * reads
    took = us if us is not None else 1.5 + moved / 1.4e6
    count = blocks(elements) if grid is None else grid
    launch = Launch(name, work, "float32", 0.0, moved, count)
    args = shapes_text([[elements]] * max(1, reads - 1))
    return Item(key, "op", name, phase, outer, args, launches=((launch, took),),
                captured=captured, frames=frames, line=line, grows=False)  # fmt: skip
