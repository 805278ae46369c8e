# SPDX-License-Identifier: BSD-3-Clause
"""ratchet.py: writes the budget that traces just keep, so that nothing gets worse."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.data.findings import WAITS
from torchtraceap.gate.budget_data import EVERY, TIME_LIMITS, VERDICTS
from torchtraceap.gate.limits import longest_pause
from torchtraceap.gate.occurrences import costs

if TYPE_CHECKING:
    from torchtraceap.report_data import ReportData

_UNUSABLE = VERDICTS[-1]


def budget_toml(reports: Sequence[ReportData], headroom: float) -> str:
    """Return a budget as TOML that all these reports keep.

    Args:
        reports: What it is made of: the worst of each figure counts.
        headroom: What each limit allows beyond that, as a share of the figure.

    Raises:
        ValueError: One of the traces is unusable, or there is none.
    """
    for report in reports:
        if report.quality.verdict == _UNUSABLE:
            raise ValueError(
                f"no budget can be made of {report.trace.path}: it is unusable"
            )
    lines = _lines(reports, headroom)
    if any(report.trace.simulated for report in reports):
        # Whether they keep a limit of times could not be told.
        lines = (x for x in lines if x.partition(" = ")[0] not in TIME_LIMITS)
    return "\n".join(lines)


def _lines(reports: Sequence[ReportData], headroom: float) -> Iterator[str]:
    worst = max((r.quality.verdict for r in reports), key=VERDICTS.index)
    more, less = 1 + headroom, 1 - headroom
    yield "# Written by torchtraceap check --write-budget; docs/ci.md explains it."
    yield f'min_quality = "{worst}"'
    whole = [r for r in reports if not r.quality.incomplete]
    devices = [(r, b) for r in reports for b in r.balance if b.device is not None]
    # What does not hold of all could not be told of some: no limit then.
    everywhere = all(r.trace.working_devices for r in reports)
    if devices and everywhere and len(whole) == len(reports):
        longest = max(longest_pause(report, row).duration_us for report, row in devices)
        yield f"max_gap_us = {_up(longest * more)}"
        busy = min(row.busy_fraction for _, row in devices)
        yield f"min_busy = {_down(busy * less)}"
    if all(r.steps for r in reports):
        times = [[s.end_us - s.start_us for s in r.steps] for r in reports]
        yield f"max_step_us = {_up(max(map(max, times)) * more)}"
        yield f"max_median_step_us = {_up(max(map(median, times)) * more)}"
        counts = [r.kernel_counts.steps for r in whole]
        most = [count.max for count in counts if count is not None]
        if everywhere and len(most) == len(reports):
            yield f"max_kernels_per_step = {math.ceil(max(most) * more)}"
    if len(whole) == len(reports):
        shares = [_share(r, sum(f.wasted_us for f in r.rule_findings)) for r in reports]
        yield f"max_wasted_share = {_up_share(max(shares) * more)}"
        if any(r.trace.simulated for r in reports):
            yield from _waits(reports, more)
        else:
            yield from _patterns(reports, more, everywhere)


def _waits(reports: Sequence[ReportData], more: float) -> Iterator[str]:
    """Of counts, those of waits alone can be told of a simulated trace."""
    if any(r.trace.simulated and not r.lists_waits for r in reports):
        return
    each = [sum(c.count for c in costs(r, (), None, WAITS)) for r in reports]
    yield f"\n[patterns.{WAITS}]"
    yield f"max_count = {math.ceil(max(each) * more)}"


def _patterns(
    reports: Sequence[ReportData], more: float, everywhere: bool
) -> Iterator[str]:
    names = dict.fromkeys(f.pattern for r in reports for f in r.rule_findings)
    if not everywhere:
        # Of what shows in device work alone, not all of these could tell.
        known = [p for p in _core.patterns() if p.user_finding]
        of_device = {p.name for p in known if not p.on_host}
        host = [p.name for p in known if p.on_host]
        names = dict.fromkeys(n for n in (*names, *host) if n not in of_device)
    for name in names:
        counts, shares = [], []
        for report in reports:
            found = [f for f in report.rule_findings if f.pattern == name]
            counts.append(sum(f.count for f in found))
            shares.append(_share(report, sum(f.wasted_us for f in found)))
        yield f"\n[patterns.{name}]"
        yield f"max_count = {math.ceil(max(counts) * more)}"
        yield f"max_share = {_up_share(max(shares) * more)}"
    if everywhere:
        yield f'\n[patterns."{EVERY}"]  # Any other.'
        yield "max_count = 0"


def _share(report: ReportData, us: float) -> float:
    whole_us = report.trace.device_time_us
    return us / whole_us if whole_us else 0.0


def _up(value: float) -> str:
    """Return microseconds, at most a thousandth more."""
    step = 10.0 ** max(-3, math.floor(math.log10(value)) - 3) if value > 0 else 1.0
    return _plain(math.ceil(value / step) * step)


def _up_share(value: float) -> str:
    return _plain(min(1.0, math.ceil(value * 1e4) / 1e4))


def _down(value: float) -> str:
    return _plain(max(0.0, math.floor(value * 1e4) / 1e4))


def _plain(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
