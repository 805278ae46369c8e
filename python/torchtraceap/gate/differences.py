# SPDX-License-Identifier: BSD-3-Clause
"""differences.py: aligns two sides, and tells changes from noise."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torchtraceap.comparison import (
    LEAST_SHARE,
    RELATIVE,
    STEP_RELATIVE,
    Change,
    Comparison,
    FindingChange,
)
from torchtraceap.gate.exact_differences import edge_of, exact, exact_finding
from torchtraceap.gate.matching import match
from torchtraceap.gate.noise import mean_error, median_error, rare_error
from torchtraceap.gate.side import Seen, Side
from torchtraceap.gate.unlike import is_comparable, notes


def make_comparison(
    before: Side, after: Side, *, roots: Iterable[str] = ()
) -> Comparison:
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
    return Comparison(
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
