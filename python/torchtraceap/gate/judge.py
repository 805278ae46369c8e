# SPDX-License-Identifier: BSD-3-Clause
"""judge.py: holds a report, or the ranks of a job, against a budget: which limits are
broken, and which are undetermined.

docs/ci.md states the rules, pattern_limits.py has those of findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from torchtraceap import _core
from torchtraceap._core import Balance, Late
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.findings import WAITS
from torchtraceap.data.job import JobData
from torchtraceap.gate.budget_data import (
    BY_TIMES,
    EVERY,
    INCOMPLETE,
    LIMITS,
    NO_DEVICE,
    NO_STEPS,
    ONE_TRACE,
    SIMULATED,
    TIME_LIMITS,
    UNLISTED,
    VERDICTS,
    BudgetData,
    Violation,
    broken,
    place_of,
    undetermined,
)
from torchtraceap.gate.memory_limits import OF_MEMORY
from torchtraceap.gate.pattern_limits import judge_patterns, judge_wasted
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import device_text
from torchtraceap.views.job_words import late_place, late_why, step_text

#: Why a limit of ranks is undetermined.
NOT_JOINED = "no two of these ranks have a collective in common"
_UNASKED = "made others wait long enough, and only those that did most are replayed"
_UNKNOWN_SIZE = "no trace tells how many ranks the job has"


def judge(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what breaks a limit, and what is undetermined (not ``known``)."""
    if not any(budget.lines()):
        for limit, allowed in budget.rank_lines():
            yield undetermined(limit, allowed, ONE_TRACE)
    if report.quality.verdict == "unusable":
        yield from _unusable(budget, report)
    elif report.trace.simulated is not None:
        yield from _simulated(budget, report)
    else:
        yield from _limits(budget, report)


def _limits(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what is not kept, as if all times were measured."""
    devices = [row for row in report.balance if row.device is not None]
    for name in LIMITS:
        if (allowed := getattr(budget, name)) is None:
            continue
        if name == "min_quality":
            yield from _quality(report, allowed)
        elif name == "max_wasted_share":
            yield from judge_wasted(budget, report)
        elif name == "max_kernels_per_step":
            yield from _kernels(report, allowed)
        elif judge_memory := OF_MEMORY.get(name):
            yield from judge_memory(report, name, allowed)
        elif judge_device := _OF_DEVICES.get(name):
            if not devices:
                yield undetermined(name, allowed, NO_DEVICE)
            for row in devices:
                yield from judge_device(report, row, allowed)
        else:
            yield from _step_time(report, name, allowed)
    yield from judge_patterns(budget, report)


def _unusable(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    why = _reasons(report).partition(". ")[0]
    for name, allowed in budget.lines():
        if name == "min_quality":
            yield from _quality(report, str(allowed))
        else:
            yield undetermined(name, allowed, f"the trace is unusable: {why}")


def _simulated(budget: BudgetData, report: ReportData) -> Iterator[Violation]:
    """Yield what is not kept of a simulated trace. Its times are undetermined, kept
    or not, for none was measured; nor of counts of what rules find by such times. Of
    counts of waits it can: the trace lists each."""
    found = list(_limits(budget, report))
    listed = report.lists_waits
    limits = [budget.patterns.get(name) for name in (WAITS, EVERY)]
    tells_waits = listed and not any(
        limit and limit.over_us is not None for limit in limits
    )
    for name, allowed in budget.lines():
        own = [violation for violation in found if violation.limit == name]
        section, _, key = name.removeprefix("patterns.").rpartition(".")
        if key in TIME_LIMITS:
            figure = own[0].found if own else None
            said = None if isinstance(figure, str) else figure
            yield undetermined(name, allowed, SIMULATED, said)
        elif key != "max_count" or (section == WAITS and tells_waits):
            yield from own
        elif section == WAITS:
            over = f"{SIMULATED}, and over_us is a limit of times"
            yield undetermined(name, allowed, over if listed else UNLISTED)
        else:
            if section == EVERY and tells_waits:
                yield from (v for v in own if v.finding and v.finding.pattern == WAITS)
            yield undetermined(name, allowed, BY_TIMES)


def _quality(report: ReportData, allowed: str) -> Iterator[Violation]:
    found = report.quality.verdict
    if VERDICTS.index(found) > VERDICTS.index(allowed):
        message = f"the trace is {found}, min_quality = {allowed!r}: {_reasons(report)}"
        yield Violation("min_quality", allowed, found, message)


def _reasons(report: ReportData) -> str:
    return " ".join(printable(note.detail) for note in report.quality.reasons)


def _step_time(report: ReportData, name: str, allowed: float) -> Iterator[Violation]:
    times = [step.end_us - step.start_us for step in report.steps]
    if not times:
        yield undetermined(name, allowed, NO_STEPS)
        return
    if name == "max_step_us":
        found = max(times)
        which = f"step {report.steps[times.index(found)].number}"
    else:
        found = median(times)
        which = f"the median step (of {len(times)})"
    if found > allowed:
        yield broken(name, allowed, found, f"{which} took {time_text(found)}")


def _kernels(report: ReportData, allowed: float) -> Iterator[Violation]:
    name = "max_kernels_per_step"
    counts = report.kernel_counts.steps
    if counts is None or not report.trace.working_devices:
        yield undetermined(name, allowed, NO_DEVICE if report.steps else NO_STEPS)
    elif counts.max > allowed:  # What is missing can only add to them.
        step = report.steps[counts.each.index(counts.max)].number
        text = f"step {step} launched {counts.max:,} kernels"
        yield broken(name, allowed, counts.max, text)
    elif report.quality.incomplete:
        yield undetermined(name, allowed, INCOMPLETE, counts.max)


def _busy(report: ReportData, row: Balance, allowed: float) -> Iterator[Violation]:
    found = row.busy_fraction
    if found >= allowed:
        return
    text = (
        f"device {device_text(row, report)} was busy for "
        f"{share_text(row.busy_us, row.span_us)} of {time_text(row.span_us)}"
    )
    if report.quality.incomplete:
        yield undetermined("min_busy", allowed, f"{text}; {INCOMPLETE}", found)
    else:
        yield broken("min_busy", allowed, found, text)


def _pause(report: ReportData, row: Balance, allowed: float) -> Iterator[Violation]:
    name = "max_gap_us"
    found = row.pause_end_us - row.pause_start_us
    if found <= allowed:
        return
    start = time_text(row.pause_start_us - report.trace.start_us)
    text = (
        f"device {device_text(row, report)} paused for {time_text(found)} from +{start}"
    )
    if report.quality.incomplete:
        yield undetermined(name, allowed, f"{text}; {INCOMPLETE}", found)
        return
    if row.pause_finding is not None:
        cause = report.rule_findings[row.pause_finding]
        text = f"{place_of(cause)}: {text}, mostly by {cause.kind}"
        yield broken(name, allowed, found, text, [cause])
        return
    # Idle time that is accounted for, but that no fix removes.
    others = [pattern.name for pattern in _core.patterns() if not pattern.user_finding]
    own_us = sum(row.idle_us[name] for name in others)
    if found - own_us <= allowed:
        why = f"{text}; the profiler itself held it up for {time_text(own_us)} in all"
        yield undetermined(name, allowed, why, found)
    else:
        yield broken(name, allowed, found, f"{text}, which no rule explains")


_OF_DEVICES = {"max_gap_us": _pause, "min_busy": _busy}


# --- The ranks of a job -------------------------------------------------------------


def judge_ranks(budget: BudgetData, job: JobData) -> Iterator[Violation]:
    """Yield what breaks a limit of ranks, and what is undetermined (not ``known``)."""
    for limit, allowed in budget.rank_lines():
        if limit == "ranks.max_missing":
            yield from _missing(job, limit, allowed)
        elif not job.facts.joined_collectives:
            yield undetermined(limit, allowed, NOT_JOINED)
        else:
            yield from _OF_TIMES[limit](job, limit, allowed)


def _missing(job: JobData, limit: str, allowed: float) -> Iterator[Violation]:
    missing = job.facts.missing
    if job.facts.world_size is None:
        yield undetermined(limit, allowed, _UNKNOWN_SIZE, len(missing))
    elif len(missing) > allowed:
        first = ", ".join(map(str, missing[:8])) + (", ..." if missing[8:] else "")
        text = f"{counted(len(missing), 'rank')} without a trace: {first}"
        yield broken(limit, allowed, len(missing), text)


def _slowdown(job: JobData, limit: str, allowed: float) -> Iterator[Violation]:
    facts = job.facts
    if facts.slowdown > allowed:
        text = (
            f"{step_text(job)} takes {time_text(facts.replayed_us)}, and would take "
            f"{time_text(facts.even_us)} with even ranks: slowdown {facts.slowdown:.2f}"
        )
        yield _with_cause(broken(limit, allowed, facts.slowdown, text), job)


def _late(job: JobData, limit: str, allowed: float) -> Iterator[Violation]:
    for row in sorted(job.ranks, key=lambda row: -(row.gain_us or 0.0)):
        if row.gain_us is None or row.gain_us <= allowed:
            continue
        text = (
            f"{step_text(job)} is {time_text(row.gain_us)} longer than if it worked "
            "at the others' speed"
        )
        yield _with_cause(broken(limit, allowed, row.gain_us, text), job, row.rank)
    # Others wait for a rank at least as long as a step would be shorter: ranks that
    # they waited for less keep the limit without a replay.
    least_us = allowed * max(1, job.facts.steps)
    unasked = [r for r in job.ranks if r.gain_us is None and r.caused_us > least_us]
    if unasked:
        first = unasked[0].rank
        many = (
            f"{counted(len(unasked), 'rank')} ({first}{', ...' if unasked[1:] else ''})"
        )
        yield undetermined(limit, allowed, f"{many} {_UNASKED}")


def _waited(job: JobData, limit: str, allowed: float) -> Iterator[Violation]:
    whole_us = sum(row.span_us for row in job.ranks)
    share = job.facts.waited_us / whole_us if whole_us > 0 else 0.0
    if share > allowed:
        text = (
            f"ranks waited {share_text(job.facts.waited_us, whole_us)} of their time "
            "for each other"
        )
        yield _with_cause(broken(limit, allowed, share, text), job)


_OF_TIMES = {
    "ranks.max_slowdown": _slowdown,
    "ranks.max_late_us": _late,
    "ranks.max_waited_share": _waited,
}


def _with_cause(found: Violation, job: JobData, rank: int | None = None) -> Violation:
    """Name what was waited for most, of a rank or of all."""
    causes = [late for late in job.late if rank is None or late.rank == rank]
    known = [late for late in causes if late.kind] or causes
    if not known:
        return replace(found, rank=rank)
    cause = known[0]
    message = f"{_cause(cause)}: {found.message}"
    return replace(found, rank=cause.rank, place=cause.location, message=message)


def _cause(late: Late) -> str:
    return f"rank {late.rank}, {late_place(late)}, {late_why(late)}"
