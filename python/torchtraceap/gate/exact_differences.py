# SPDX-License-Identifier: BSD-3-Clause
"""exact_differences.py: changes between two simulations of dry runs, without noise."""

from __future__ import annotations

from dataclasses import replace

from torchtraceap.comparison import Change, FindingChange
from torchtraceap.gate.side import Side
from torchtraceap.recorded_waits import PATTERN

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
        if seen is not None and (seen.pattern != PATTERN or seen.wasted_us > 0):
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
