# SPDX-License-Identifier: BSD-3-Clause
"""ratchet.py: writes the budget that traces just keep, so that nothing gets worse."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from statistics import median

from torchtraceap import _core
from torchtraceap.data.findings import WAITS
from torchtraceap.data.job import JobData
from torchtraceap.gate.budget_data import EVERY, TIME_LIMITS, VERDICTS
from torchtraceap.gate.judge import NOT_JOINED
from torchtraceap.gate.pattern_limits import Total, costs, patterns_of, total
from torchtraceap.report_data import ReportData

_WRITTEN = "# Written by torchtraceap check --write-budget; docs/ci.md explains it."


def budget_toml(reports: Sequence[ReportData], headroom: float) -> str:
    """Return a budget as TOML that all these reports keep: each limit allows the worst
    figure, and this share of it more.

    Raises ValueError if one of the traces is unusable, or there is none.
    """
    for report in reports:
        if report.quality.verdict == VERDICTS[-1]:
            raise ValueError(
                f"no budget can be made of {report.trace.path}: it is unusable"
            )
    lines = _lines(reports, headroom)
    if any(report.trace.simulated for report in reports):
        # Limits of times would be undetermined.
        lines = (x for x in lines if x.partition(" = ")[0] not in TIME_LIMITS)
    return "\n".join(lines)


def ranks_toml(job: JobData, headroom: float) -> str:
    """Return the ``[ranks]`` of a budget that a job keeps, with this share more.

    Raises ValueError if its ranks have no collective in common.
    """
    facts, more = job.facts, 1 + headroom
    if not facts.joined_collectives:
        raise ValueError(f"no budget can be made of {facts.source}: {NOT_JOINED}")
    late_us = max((row.gain_us or 0.0 for row in job.ranks), default=0.0)
    share = facts.waited_us / sum(row.span_us for row in job.ranks)
    lines = [
        _WRITTEN,
        "[ranks]",
        f"max_slowdown = {_rounded(max(1.0, facts.slowdown) * more)}",
        f"max_late_us = {_rounded(late_us * more)}",
        f"max_waited_share = {_rounded(min(1.0, share * more))}",
    ]
    if facts.world_size is not None:
        lines.append(f"max_missing = {len(facts.missing)}")
    return "\n".join(lines)


def _lines(reports: Sequence[ReportData], headroom: float) -> Iterator[str]:
    """Yield the lines. A figure that one of the reports does not have gets no limit."""
    worst = max((r.quality.verdict for r in reports), key=VERDICTS.index)
    more, less = 1 + headroom, 1 - headroom
    yield _WRITTEN
    yield f'min_quality = "{worst}"'
    complete = not any(report.quality.incomplete for report in reports)
    on_devices = all(report.trace.working_devices for report in reports)
    rows = [(r, b) for r in reports for b in r.balance if b.device is not None]
    if complete and on_devices and rows:
        longest_us = max(row.pause_end_us - row.pause_start_us for _, row in rows)
        yield f"max_gap_us = {_rounded(longest_us * more)}"
        busy = min(row.busy_fraction for _, row in rows) * less
        yield f"min_busy = {_rounded(busy, ROUND_FLOOR)}"
    if all(report.steps for report in reports):
        times = [[s.end_us - s.start_us for s in r.steps] for r in reports]
        yield f"max_step_us = {_rounded(max(map(max, times)) * more)}"
        yield f"max_median_step_us = {_rounded(max(map(median, times)) * more)}"
        counts = [report.kernel_counts.steps for report in reports]
        most = [count.max for count in counts if count is not None]
        if complete and on_devices and len(most) == len(reports):
            yield f"max_kernels_per_step = {math.ceil(max(most) * more)}"
    devices = [[m for m in r.memory if m.device is not None] for r in reports]
    if all(rows and not any(m.relative for m in rows) for rows in devices):
        peak = max(m.peak_bytes for rows in devices for m in rows) / 1e9
        yield f"peak_memory_gb = {_rounded(peak * more)}"
    if complete:
        share = max(_total(report, *patterns_of(report)).share for report in reports)
        yield f"max_wasted_share = {_rounded(min(1.0, share * more))}"
        if any(report.trace.simulated for report in reports):
            yield from _waits(reports, more)
        else:
            yield from _patterns(reports, more, on_devices)


def _waits(reports: Sequence[ReportData], more: float) -> Iterator[str]:
    """The only counts of a simulated trace that are not assumed are those of waits."""
    if any(r.trace.simulated and not r.lists_waits for r in reports):
        return
    most = max(_total(report, WAITS).count for report in reports)
    yield f"\n[patterns.{WAITS}]"
    yield f"max_count = {math.ceil(most * more)}"


def _patterns(
    reports: Sequence[ReportData], more: float, on_devices: bool
) -> Iterator[str]:
    names = dict.fromkeys(name for r in reports for name in patterns_of(r))
    if not on_devices:
        # Of what shows in device work alone, not all of these could tell.
        known = [p for p in _core.patterns() if p.user_finding]
        of_device = {p.name for p in known if not p.on_host}
        host = [p.name for p in known if p.on_host]
        names = dict.fromkeys(n for n in (*names, *host) if n not in of_device)
    for name in names:
        totals = [_total(report, name) for report in reports]
        most, share = max(t.count for t in totals), max(t.share for t in totals)
        yield f"\n[patterns.{name}]"
        yield f"max_count = {math.ceil(most * more)}"
        yield f"max_share = {_rounded(min(1.0, share * more))}"
    if on_devices:
        yield f'\n[patterns."{EVERY}"]  # Any other.'
        yield "max_count = 0"


def _total(report: ReportData, *patterns: str) -> Total:
    counted = (cost for pattern in patterns for cost in costs(report, pattern))
    return total(counted, report)


def _rounded(value: float, how: str = ROUND_CEILING) -> str:
    """Return four digits of a figure, as TOML."""
    return f"{Context(prec=4, rounding=how).create_decimal(value):f}"
