# SPDX-License-Identifier: BSD-3-Clause
"""judge_ranks.py: holds the ranks of a job against a budget.

docs/ci.md states the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchtraceap._core import Late
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.job import JobData
from torchtraceap.gate.budget_data import BudgetData, Violation, broken, untold
from torchtraceap.views.job_words import late_place, late_why, step_text

#: Why a limit of ranks cannot be told.
NOT_JOINED = "no two of these ranks have a collective in common"
_UNASKED = "made others wait long enough, and only those that did most are replayed"
_UNKNOWN_SIZE = "no trace tells how many ranks the job has"


def judge_ranks(budget: BudgetData, job: JobData) -> Iterator[Violation]:
    """Yield what breaks a limit of ranks, and what cannot be told (not ``known``)."""
    for limit, allowed in budget.rank_lines():
        if limit == "ranks.max_missing":
            yield from _missing(job, limit, allowed)
        elif not job.facts.joined_collectives:
            yield untold(limit, allowed, NOT_JOINED)
        else:
            yield from _OF_TIMES[limit](job, limit, allowed)


def _missing(job: JobData, limit: str, allowed: float) -> Iterator[Violation]:
    missing = job.facts.missing
    if job.facts.world_size is None:
        yield untold(limit, allowed, _UNKNOWN_SIZE, len(missing))
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
            f"{step_text(job)} is {time_text(row.gain_us)} longer than if its work "
            "took what it takes others"
        )
        yield _with_cause(broken(limit, allowed, row.gain_us, text), job, row.rank)
    # Others wait for a rank by what a step would be shorter at least: those that they
    # waited for less keep the limit without a replay.
    least_us = allowed * max(1, job.facts.steps)
    unasked = [r for r in job.ranks if r.gain_us is None and r.caused_us > least_us]
    if unasked:
        first = unasked[0].rank
        many = (
            f"{counted(len(unasked), 'rank')} ({first}{', ...' if unasked[1:] else ''})"
        )
        yield untold(limit, allowed, f"{many} {_UNASKED}")


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
