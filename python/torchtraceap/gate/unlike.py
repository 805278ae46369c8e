# SPDX-License-Identifier: BSD-3-Clause
"""unlike.py: what makes the two sides of a comparison unequal, beside the change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchtraceap.gate.matching import path_below
from torchtraceap.gate.noise import median_error
from torchtraceap.gate.side import Side

_UNUSABLE = "unusable"


def is_comparable(before: Side, after: Side) -> bool:
    """Tell whether changes can be told: both usable, and both recorded or neither."""
    return not (_unusable(before, after) or _mixed(before, after))


def _unusable(before: Side, after: Side) -> bool:
    return _UNUSABLE in (before.verdict, after.verdict)


def _mixed(before: Side, after: Side) -> bool:
    """Tell whether one is a recording and the other a simulation."""
    return (before.simulated is None) != (after.simulated is None)


def notes(
    before: Side, after: Side, per_step: bool, roots: Sequence[str]
) -> Iterator[str]:
    """Yield what a reader should know of both, worst first.

    Args:
        before: One side.
        after: The other.
        per_step: Whether figures are of one step.
        roots: Folders that the files lie in.
    """
    for name, side in (("before", before), ("after", after)):
        if side.verdict == _UNUSABLE:
            yield f"the trace {name} is unusable: nothing is said of what changed"
        elif side.incomplete:
            yield (
                f"the trace {name} misses records of the device: idle time is "
                "overstated there, and findings may be missing"
            )
    if _mixed(before, after):
        which = "before" if before.simulated else "after"
        yield (
            f"the trace {which} is simulated by a dry run, the other recorded: what "
            "was measured is not compared with what was assumed"
        )
    if not is_comparable(before, after):
        return
    if before.simulated is not None:
        yield "both traces are simulated by a dry run: no time in them was measured"
    if before.simulated != after.simulated:
        yield "their dry runs assumed other things; the program is not all that changed"
    if sorted(before.devices) != sorted(after.devices):
        yield (
            f"devices differ: {_devices(before)} before, {_devices(after)} after; "
            "the change of the program is not the only one"
        )
    if before.units != after.units:
        yield "figures are of one device (or process), on average"
    if per_step and before.steps != after.steps:
        yield (
            f"steps differ: {before.steps} before, {after.steps} after; figures are "
            "of one step, on average"
        )
    if bool(before.steps) != bool(after.steps):
        which = "before" if before.steps else "after"
        yield f"only the trace {which} has steps: figures are shares of the time"
    if not before.steps and not after.steps:
        yield "neither trace has steps: figures are shares of the time"
    few = min(before.steps, after.steps)
    recorded = before.simulated is None  # Simulations have no noise.
    if recorded and per_step and median_error((0.0,) * few) is None:
        yield f"{few} steps are too few to tell a change from noise"
    files = [{path_below(f, roots) for f in side.files} for side in (before, after)]
    if all(files) and not files[0] & files[1]:
        yield (
            "no file has findings on both sides: if the program lies in another folder "
            "after, name both folders (--root, roots=)"
        )
    if before.settings != after.settings:
        yield "thresholds differ: findings may have come or gone by that alone"


def _devices(side: Side) -> str:
    if not side.devices:
        return "none"
    names = dict.fromkeys(side.devices)
    return ", ".join(
        f"{side.devices.count(name)} × {name or 'without a name'}" for name in names
    )
