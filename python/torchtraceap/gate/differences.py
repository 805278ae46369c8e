# SPDX-License-Identifier: BSD-3-Clause
"""differences.py: what differs between two sides, and whether that is more than noise.

docs/ci.md states the rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import stdev

from torchtraceap.data.findings import WAITS
from torchtraceap.gate.changes import (
    LEAST_SHARE,
    RELATIVE,
    STEP_RELATIVE,
    Change,
    ComparisonData,
    FindingChange,
)
from torchtraceap.gate.matching import match, path_below
from torchtraceap.gate.side import Seen, Side

_FEWEST = 3  # Steps that have a spread.
_SURE = 3.0  # Errors that a difference must exceed.


def median_error(values: Sequence[float]) -> float | None:
    """Return how far the median of a sample must move; None of too few values.

    Half of the distance between the values that are √n / 2 ranks above and below the
    median, thrice: of what is normal, that is thrice the error of its median. Unlike a
    median deviation it is not 0 where steps are of two kinds.
    """
    count = len(values)
    if count < _FEWEST:
        return None
    ordered = sorted(values)
    middle, ranks = (count - 1) / 2, math.sqrt(count) / 2
    between = _at(ordered, middle + ranks) - _at(ordered, middle - ranks)
    return _SURE * between / 2


def mean_error(values: Sequence[float]) -> float | None:
    """Return how far the mean of a sample must move; None of too few values."""
    if len(values) < _FEWEST:
        return None
    return _SURE * stdev(values) / math.sqrt(len(values))


def rare_error(total: float, times: int, steps: int) -> float:
    """Return how far ``total / steps`` must move if it came about in `times` of them.

    The binomial error of a few occurrences that cost alike; 0 of as many as steps.
    """
    if not 0 < times < steps:
        return 0.0
    share = times / steps
    return _SURE * total / times * math.sqrt(share * (1 - share) / (steps - 1))


def _at(ordered: Sequence[float], rank: float) -> float:
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    part = rank - below
    return ordered[below] * (1 - part) + ordered[above] * part


#: Times are whole nanoseconds; sums of them, divided by steps, are rounded.
ROUNDING = 1e-9


def edge_of(before: Side, after: Side) -> float:
    """Return which share of a figure by the step may be due to where runs begin and
    end: that of one step, if they have different numbers of them."""
    fewest = min(before.steps, after.steps)
    return 1 / fewest if before.steps != after.steps and fewest else 0.0


def exact(change: Change, edge: float = 0.0) -> Change:
    """Return a change between two simulations: they have no noise, and what differs by
    more than rounding, and the edge, does so by what was changed."""
    least = max(ROUNDING, edge) * max(abs(change.before), abs(change.after))
    return replace(change, noise=0.0, counts=abs(change.after - change.before) > least)


def exact_finding(finding: FindingChange, before: Side, after: Side) -> FindingChange:
    """Return what became of a finding between two simulations: in time, or, of a wait
    that costs none, in how often it comes."""
    cost = exact(finding.cost, edge_of(before, after))
    often = _often(finding, before, after)
    if finding.before is None or finding.after is None:
        # A wait that costs no time is there or not, too.
        return replace(finding, cost=replace(cost, counts=True), often=often)
    status, told = "same", cost
    if often is not None and often.counts:
        told, cost = often, replace(cost, counts=True)
    if told.counts:
        status = "grown" if told.after > told.before else "shrunk"
    return replace(finding, status=status, cost=cost, often=often)


def _often(finding: FindingChange, before: Side, after: Side) -> Change | None:
    """Compare how often the host waits where that costs no time on either side: where
    it costs some, the rule counts what does, which hangs on the times."""
    was, now = finding.before, finding.after
    for seen in (was, now):
        if seen is not None and (seen.pattern != WAITS or seen.wasted_us > 0):
            return None
    if bool(before.steps) != bool(after.steps):
        return None
    counts = was.count if was else 0, now.count if now else 0
    each = counts[0] / (before.steps or 1), counts[1] / (after.steps or 1)
    # What waits while setting up does so once, whatever number of steps there is: it is
    # a change if it is one both by the step and in all.
    same_way = (counts[1] - counts[0]) * (each[1] - each[0]) > 0
    change = exact(Change(*each, noise=0.0, counts=True), edge_of(before, after))
    return replace(change, counts=change.counts and same_way)


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


def make_comparison(
    before: Side, after: Side, *, roots: Iterable[str] = ()
) -> ComparisonData:
    """Compare two sides. The roots are those of ``compare``."""
    roots = tuple(roots)
    per_step = before.steps > 0 and after.steps > 0
    comparable = is_comparable(before, after)
    step_us = busy = None
    causes: dict[str, Change] = {}
    findings: list[FindingChange] = []
    if per_step and comparable:
        errors = median_error(before.steps_us), median_error(after.steps_us)
        noise = _together(*errors)
        step_us = _change(before.step_us, after.step_us, noise, 0.0, STEP_RELATIVE)
    if comparable:
        sizes = _size(before, per_step), _size(after, per_step)
        floor = LEAST_SHARE
        if per_step:
            floor *= before.span_us * before.units / sizes[0]
        busy = _busy(before, after)
        causes = _causes(before, after, sizes, floor, per_step)
        for pair in match(before.findings, after.findings, sizes, roots):
            findings.append(_finding(pair, before, after, sizes, floor, per_step))
    if before.simulated is not None:
        edge = edge_of(before, after)
        step_us, busy = step_us and exact(step_us), busy and exact(busy, edge)
        causes = {name: exact(change, edge) for name, change in causes.items()}
        findings = [exact_finding(one, before, after) for one in findings]
    findings.sort(key=lambda f: -abs(f.cost.after - f.cost.before))
    return ComparisonData(
        before=before,
        after=after,
        unit="us_per_step" if per_step else "share",
        notes=tuple(notes(before, after, per_step, roots)),
        comparable=comparable,
        step_us=step_us,
        busy=busy,
        causes=causes,
        findings=tuple(findings),
    )


def _size(side: Side, per_step: bool) -> float:
    """Return what a side's microseconds are divided by."""
    return side.units * (side.steps if per_step else side.span_us) or 1.0


def _busy(before: Side, after: Side) -> Change | None:
    if before.busy is None or after.busy is None:
        return None
    if bool(before.devices) != bool(after.devices):  # That of operators is another.
        return None
    return _change(before.busy, after.busy, None, LEAST_SHARE, 0.0)


def _causes(
    before: Side,
    after: Side,
    sizes: tuple[float, float],
    floor: float,
    per_step: bool,
) -> dict[str, Change]:
    changes = {
        name: _change(
            before.causes.get(name, 0.0) / sizes[0],
            after.causes.get(name, 0.0) / sizes[1],
            _cause_noise(name, before, after) if per_step else None,
            floor,
            RELATIVE,
        )
        for name in dict.fromkeys((*before.causes, *after.causes))
    }
    seen = [(name, c) for name, c in changes.items() if c.before or c.after]
    return dict(sorted(seen, key=lambda item: -abs(item[1].after - item[1].before)))


def _finding(
    pair: tuple[Seen | None, Seen | None],
    before: Side,
    after: Side,
    sizes: tuple[float, float],
    floor: float,
    per_step: bool,
) -> FindingChange:
    was, now = pair
    pattern = (was or now or before.findings[0]).pattern
    cost = _change(
        was.wasted_us / sizes[0] if was else 0.0,
        now.wasted_us / sizes[1] if now else 0.0,
        _cause_noise(pattern, before, after, pair) if per_step else None,
        floor,
        RELATIVE,
    )
    if was is None or now is None:
        status = "new" if was is None else "gone"
    elif not cost.counts:
        status = "same"
    else:
        status = "grown" if cost.after > cost.before else "shrunk"
    return FindingChange(status, was, now, cost)


def _change(
    before: float, after: float, noise: float | None, floor: float, relative: float
) -> Change:
    least = max(floor, relative * max(before, after), noise or 0.0)
    return Change(before, after, noise, abs(after - before) > least)


def _cause_noise(
    pattern: str,
    before: Side,
    after: Side,
    pair: tuple[Seen | None, Seen | None] = (None, None),
) -> float | None:
    return _together(
        *(
            _cause_error(side, side.step_causes.get(pattern, (0.0,) * side.steps), seen)
            for side, seen in zip((before, after), pair, strict=True)
        )
    )


def _cause_error(
    side: Side, values: tuple[float, ...], seen: Seen | None
) -> float | None:
    error = mean_error(values)
    if error is not None and seen is not None:
        # What was between the steps is in none of the values.
        times = max(seen.count, sum(value > 0 for value in values))
        error = max(error, rare_error(seen.wasted_us, times, side.steps))
    return None if error is None else error / side.units


def _together(before: float | None, after: float | None) -> float | None:
    if before is None or after is None:
        return None
    return math.hypot(before, after)
