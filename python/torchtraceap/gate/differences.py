# SPDX-License-Identifier: BSD-3-Clause
"""differences.py: what differs between two sides, and whether that is more than noise.

docs/ci.md states the rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import stdev

import numpy as np

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.data.findings import WAITS
from torchtraceap.gate.comparison import (
    LEAST_SHARE,
    RELATIVE,
    STEP_RELATIVE,
    Comparison,
)
from torchtraceap.gate.matching import Pair, match, path_below
from torchtraceap.gate.side import Change, FindingChange, Side

_FEWEST = 3  # Steps that have a spread.
_SURE = 3.0  # Errors that a difference must exceed.
# Times are whole nanoseconds; sums of them, divided by steps, are rounded.
_ROUNDING = 1e-9


def compare_sides(before: Side, after: Side, roots: Iterable[str] = ()) -> Comparison:
    """Compare two sides. The roots are those of ``compare``."""
    roots = tuple(roots)
    found = _Differences(before, after)
    mixed = (before.trace.simulated is None) != (after.trace.simulated is None)
    comparable = not mixed and "unusable" not in (
        before.quality.verdict,
        after.quality.verdict,
    )
    pairs = match(before.findings, after.findings, found.sizes, roots)
    findings = [found.finding(pair) for pair in pairs] if comparable else []
    findings.sort(key=lambda one: -abs(one.cost.after - one.cost.before))
    calls = before.calls, after.calls
    operators = None
    if comparable and calls[0] is not None and calls[1] is not None:
        operators = _core.align(calls[0], calls[1])
    return Comparison(
        before=replace(before, calls=None),
        after=replace(after, calls=None),
        unit="us_per_step" if found.per_step else "share",
        notes=tuple(_notes(before, after, mixed, comparable, roots)),
        comparable=comparable,
        step_us=found.step_us() if comparable else None,
        busy=found.busy() if comparable else None,
        causes=found.causes() if comparable else {},
        findings=tuple(findings),
        operators=operators,
        reports=tuple(
            name
            for name, tree in zip(("before", "after"), calls, strict=True)
            if tree is None
        ),
    )


class _Differences:
    """What differs between two sides, both recorded or both simulated."""

    def __init__(self, before: Side, after: Side) -> None:
        self._sides = before, after
        self.per_step = before.steps > 0 and after.steps > 0
        #: What the microseconds of each side are divided by.
        self.sizes = self._size(before), self._size(after)
        self._floor = LEAST_SHARE
        if self.per_step:
            self._floor *= before.trace.span_us * before.units / self.sizes[0]
        # Which share of a figure by the step may be due to where runs begin and end:
        # that of one step, if they have different numbers of them.
        fewest = min(before.steps, after.steps)
        unequal = before.steps != after.steps and fewest
        self._edge = 1 / fewest if unequal else 0.0

    def _size(self, side: Side) -> float:
        return side.units * (side.steps if self.per_step else side.trace.span_us) or 1.0

    def step_us(self) -> Change | None:
        """Return the change of the median step, if both sides have steps."""
        if not self.per_step:
            return None
        before, after = self._sides
        if self._simulated:
            return self._change(before.step_us, after.step_us, edge=0.0)
        errors = (median_error(side.steps_us) for side in self._sides)
        return changed_step(before.step_us, after.step_us, *errors)

    def busy(self) -> Change | None:
        """Return the change of the busy share, if both have it of the same thing."""
        before, after = self._sides
        if before.busy is None or after.busy is None:
            return None
        if bool(before.devices) != bool(after.devices):  # That of operators is another.
            return None
        return self._change(before.busy, after.busy, None, LEAST_SHARE)

    def causes(self) -> dict[str, Change]:
        """Return the change of the time of each pattern, the largest first."""
        before, after = self._sides
        changes = {}
        for name in dict.fromkeys((*before.causes, *after.causes)):
            was, now = (side.causes.get(name, 0.0) for side in self._sides)
            changes[name] = self._cost(name, was, now)
        seen = [(name, c) for name, c in changes.items() if c.before or c.after]
        return dict(sorted(seen, key=lambda item: -abs(item[1].after - item[1].before)))

    def finding(self, pair: Pair) -> FindingChange:
        """Return what became of a finding."""
        was, now = pair
        pattern = next(seen.pattern for seen in pair if seen)
        before_us, after_us = (seen.wasted_us if seen else 0.0 for seen in pair)
        cost = self._cost(pattern, before_us, after_us, pair)
        often = self._often(was, now)
        if was is None or now is None:
            if self._simulated:  # A wait that costs no time is there or not, too.
                cost = replace(cost, counts=True)
            status = "new" if was is None else "gone"
            return FindingChange(status, was, now, cost, often)
        told = cost
        if often is not None and often.counts:
            told, cost = often, replace(cost, counts=True)
        status = "same"
        if told.counts:
            status = "grown" if told.after > told.before else "shrunk"
        return FindingChange(status, was, now, cost, often)

    def _often(self, was: Finding | None, now: Finding | None) -> Change | None:
        """Compare how often the host of a simulation waits where that costs no time on
        either side: where it costs some, the rule counts what does, which depends
        on the times."""
        before, after = self._sides
        if not self._simulated or bool(before.steps) != bool(after.steps):
            return None
        for seen in (was, now):
            if seen is not None and (seen.pattern != WAITS or seen.wasted_us > 0):
                return None
        counts = was.count if was else 0, now.count if now else 0
        each = counts[0] / (before.steps or 1), counts[1] / (after.steps or 1)
        # What waits while setting up does so once, whatever number of steps there is:
        # it is a change if it is one both by the step and in all.
        same_way = (counts[1] - counts[0]) * (each[1] - each[0]) > 0
        change = self._change(*each)
        return replace(change, counts=change.counts and same_way)

    def _cost(
        self,
        pattern: str,
        before_us: float,
        after_us: float,
        seen: Pair = (None, None),
    ) -> Change:
        """Compare times of a pattern, or of a finding of it."""
        before, after = before_us / self.sizes[0], after_us / self.sizes[1]
        noise = None
        if self.per_step:
            each = zip(self._sides, seen, strict=True)
            noise = _both(*(_cause_error(side, pattern, one) for side, one in each))
        least = max(self._floor, RELATIVE * max(before, after))
        return self._change(before, after, noise, least)

    @property
    def _simulated(self) -> bool:
        return self._sides[0].trace.simulated is not None

    def _change(
        self,
        before: float,
        after: float,
        noise: float | None = None,
        least: float = 0.0,
        edge: float | None = None,
    ) -> Change:
        """Return a change, which counts if it exceeds its noise and the least one.

        Simulations have no noise: what differs by more than rounding, and the edge,
        does so by what was changed.
        """
        if self._simulated:
            share = max(_ROUNDING, self._edge if edge is None else edge)
            noise, least = 0.0, share * max(before, after)
        counts = abs(after - before) > max(least, noise or 0.0)
        return Change(before, after, noise, counts)


def changed_step(
    before_us: float,
    after_us: float,
    before_error: float | None,
    after_error: float | None,
) -> Change:
    """Return the change of a recorded median step; the errors are of `median_error`."""
    noise = _both(before_error, after_error)
    least = max(STEP_RELATIVE * max(before_us, after_us), noise or 0.0)
    return Change(before_us, after_us, noise, abs(after_us - before_us) > least)


def changed_share(before: float, after: float) -> Change:
    """Return the change of a share of recorded time."""
    least = max(LEAST_SHARE, RELATIVE * max(before, after))
    return Change(before, after, None, abs(after - before) > least)


def _cause_error(side: Side, pattern: str, seen: Finding | None) -> float | None:
    values = side.step_causes.get(pattern, (0.0,) * side.steps)
    if len(values) < _FEWEST:
        return None
    error = _SURE * stdev(values) / math.sqrt(len(values))  # Of their mean.
    if seen is not None:
        # What was between the steps is in none of the values.
        times = max(seen.count, sum(value > 0 for value in values))
        error = max(error, _rare_error(seen.wasted_us, times, side.steps))
    return error / side.units


def _rare_error(total: float, times: int, steps: int) -> float:
    """Return how far ``total / steps`` must move if it came about in `times` of them.

    The binomial error of a few occurrences that cost alike; 0 of as many as steps.
    """
    if not 0 < times < steps:
        return 0.0
    share = times / steps
    return _SURE * total / times * math.sqrt(share * (1 - share) / (steps - 1))


def median_error(values: Sequence[float]) -> float | None:
    """Return how far the median of a sample must move; None of too few values.

    Half of the distance between the values that are √n / 2 ranks above and below the
    median, thrice: of what is normal, that is thrice the error of its median. Unlike a
    median deviation it is not 0 where steps are of two kinds.
    """
    count = len(values)
    if count < _FEWEST:
        return None
    middle, ranks = (count - 1) / 2, math.sqrt(count) / 2
    around = [middle - ranks, middle + ranks]
    low, high = np.interp(around, range(count), sorted(values))
    return float(_SURE * (high - low) / 2)


def _both(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else math.hypot(before, after)


def _notes(
    before: Side, after: Side, mixed: bool, comparable: bool, roots: Sequence[str]
) -> Iterator[str]:
    """Yield what a reader should know of both, worst first."""
    for name, side in (("before", before), ("after", after)):
        if side.quality.verdict == "unusable":
            yield f"the trace {name} is unusable: changes are undetermined"
        elif side.quality.incomplete:
            yield (
                f"the trace {name} misses records of the device: idle time is "
                "overstated there, and findings may be missing"
            )
    if mixed:
        which = "before" if before.trace.simulated else "after"
        yield (
            f"the trace {which} is simulated by a dry run, the other recorded: what "
            "was measured is not compared with what was assumed"
        )
    if not comparable:
        return
    if before.trace.simulated is not None:
        yield "both traces are simulated by a dry run: no time in them was measured"
    if before.trace.simulated != after.trace.simulated:
        yield "their dry runs assumed other things; the program is not all that changed"
    if sorted(before.devices) != sorted(after.devices):
        yield (
            f"devices differ: {_devices(before)} before, {_devices(after)} after; "
            "the change of the program is not the only one"
        )
    if before.units != after.units:
        yield "figures are of one device (or process), on average"
    yield from _step_notes(before, after)
    files = [{path_below(f, roots) for f in side.files} for side in (before, after)]
    if all(files) and not files[0] & files[1]:
        yield (
            "no file has findings on both sides: if the program lies in another folder "
            "after, name both folders (--root, roots=)"
        )
    if before.settings != after.settings:
        yield "thresholds differ: this alone may have added or removed findings"


def _step_notes(before: Side, after: Side) -> Iterator[str]:
    few = min(before.steps, after.steps)
    if not before.steps and not after.steps:
        yield "neither trace has steps: figures are shares of the time"
    elif not few:
        which = "before" if before.steps else "after"
        yield f"only the trace {which} has steps: figures are shares of the time"
    elif before.steps != after.steps:
        yield (
            f"steps differ: {before.steps} before, {after.steps} after; figures are "
            "of one step, on average"
        )
    if (
        0 < few < _FEWEST and before.trace.simulated is None
    ):  # Simulations have no noise.
        yield f"{few} steps are too few to tell a change from noise"


def _devices(side: Side) -> str:
    if not side.devices:
        return "none"
    names = dict.fromkeys(side.devices)
    return ", ".join(
        f"{side.devices.count(name)} × {name or 'without a name'}" for name in names
    )
