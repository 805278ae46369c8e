# SPDX-License-Identifier: BSD-3-Clause
"""job_text.py: the ranks of a job as plain text: the verdict, who is late and why, a
table of ranks, the collectives, and the accuracy of the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchtraceap._core import Late
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, headed, joined, marked, wrapped
from torchtraceap.base.units import share_text, time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.cells import table_lines
from torchtraceap.views.finding_text import range_text
from torchtraceap.views.job_tables import job_tables
from torchtraceap.views.job_words import (
    decode_texts,
    is_slowed,
    job_fact_texts,
    job_name,
    late_place,
    late_rank_text,
    late_ranks_text,
    late_why,
    look_closer,
    notable_causes,
    on_gpus,
    shared_text,
    slowdown_text,
    step_text,
    together_text,
    trust_texts,
    waited_text,
)

_EXPLAINED = 3  # causes in words: the ones to look into first


def write_job(job: JobData, rows: int) -> str:
    """Return the text of `job_lines`."""
    return "\n".join(job_lines(job, rows))


def job_lines(job: JobData, rows: int = 10) -> list[str]:
    """Return the lines, with at most ``rows`` causes, ranks, collectives and notes."""
    causes = notable_causes(job)
    return joined(
        (
            _heading(job, rows),
            _causes(job, causes, rows),
            _paragraphs(filter(None, [shared_text(job)])),
            *(table_lines(table, rows) for table in job_tables(job, rows)),
            _paragraphs(trust_texts(job)),
            _closer(job),
        )
    )


def _heading(job: JobData, rows: int) -> Iterator[str]:
    yield marked(printable(job_name(job)), "title")
    yield from wrapped(", ".join(job_fact_texts(job)), "  ")
    yield from _paragraphs(filter(None, [slowdown_text(job), *decode_texts(job)]))
    notes = [headed("Note", printable(note.detail, 600)) for note in job.facts.notes]
    yield from _paragraphs(notes[:rows])
    if len(notes) > rows:
        yield f"and {len(notes) - rows} more notes"


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from wrapped(text, "  ")


def _causes(job: JobData, causes: Sequence[Late], rows: int) -> Iterator[str]:
    gpus = on_gpus(job)
    waited = together_text(job.facts.waited_us, gpus)
    if not job.facts.joined_collectives:
        return
    told = late_ranks_text(job) if job.late_ranks[1:] or not causes else ""
    if told:
        yield from wrapped(told, "  ")
        for one in job.late_ranks[:rows]:
            yield from wrapped(late_rank_text(one, job), "    ", first="  ")
            if one.finding is not None and not causes:
                yield from wrapped(one.finding.advice, "    ", first="    ")
    elif not causes and not decode_texts(job):
        who, whom = "none", "different ranks in turn"
        if is_slowed(job):
            who = "no single cause"
            if job.facts.sometimes_late is not None:
                who = f"rank {job.facts.sometimes_late}, in some steps"
                whom = "that rank most of all"
        text = f"{who}. Ranks waited {waited} for each other, for {whom}."
        yield from wrapped(headed("Who is late", text), "  ")
    if not causes:
        return
    yield marked("Late ranks, costliest first:", "heading")
    cells = [
        (
            f"rank {late.rank}",
            late_place(late),
            late_why(late),
            f"{time_text(late.late_us)} late",
            f"-> {waited_text(late, gpus)}{_without(late, job)}",
        )
        for late in causes[:rows]
    ]
    yield from align(cells, right=(3,), indent="  ")
    if more := causes[rows:]:
        yield f"  and {len(more)} more"
    for number, late in enumerate(causes[:_EXPLAINED], 1):
        if late.finding is not None:
            text = f"{number}. {late.finding.kind}: {printable(late.finding.message)}"
            yield from wrapped(text, "     ", first="  ")
            yield from wrapped(late.finding.advice, "     ", first="     ")
    explained = sum(late.waited_us for late in causes)
    yield from wrapped(
        f"That is {share_text(explained, job.facts.waited_us)} of the {waited} that "
        f"ranks waited for each other. {_unexplained(job, causes)}",
        "  ",
    )


def _without(late: Late, job: JobData) -> str:
    if late.gain_us is None:
        return ""
    less = range_text(late.gain_low_us, late.gain_us, late.gain_high_us)
    return f"; without it {step_text(job)} is {less} shorter"


def _unexplained(job: JobData, causes: Sequence[Late]) -> str:
    """Report how much lateness has no cause in the traces."""
    left = sum(late.waited_us for late in job.late if not late.kind)
    if not left:
        return "The rest has many small causes."
    return (
        f"For {share_text(left, job.facts.waited_us)} the late rank's trace shows no "
        "cause: nothing was recorded there, or its clock is off."
    )


def _closer(job: JobData) -> Iterator[str]:
    if job.ranks:
        rank, how = look_closer(job)
        yield headed(f"Look closer at rank {rank}", how)
