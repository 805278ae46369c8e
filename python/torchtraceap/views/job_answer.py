# SPDX-License-Identifier: BSD-3-Clause
"""job_answer.py: the first screen of a job: who makes the others wait, the gain."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap._core import JobAnswerRow
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, headed, marked, wrapped
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.answer_text import WIDTH, gain_of, shares_text
from torchtraceap.views.job_words import (
    NOT_JOINED,
    among_text,
    culprit_text,
    decode_texts,
    job_fact_texts,
    job_name,
    late_place,
    late_ranks_name,
    late_why,
    look_closer,
    step_text,
)


def job_answer_lines(job: JobData, width: int = WIDTH) -> list[str]:
    """Return the first screen of a job, some ten lines of that width at most."""
    room = min(width, WIDTH)
    lines = [
        marked(printable(job_name(job)), "title"),
        *wrapped(", ".join(_facts(job)), "", width=room),
    ]
    for sentence in job_verdict_texts(job):
        lines += wrapped(marked(sentence, "heading"), "", width=room)
    if job.answer.rows:
        lines += ["", *_table(job, width), ""]
    for note in _notes(job):
        lines += wrapped(note, "", width=room)
    look = f", {look_closer(job)[1]}" if job.ranks else ""
    return [*lines, f"More: --full, --html FILE{look}"]  # Whole, to be copied.


def job_answer_line(job: JobData) -> str:
    """Return the verdict in one line."""
    return f"{printable(job_name(job))}: {' '.join(job_verdict_texts(job))}"


def _facts(job: JobData) -> Iterator[str]:
    yield from job_fact_texts(job)
    if job.facts.joined_collectives:
        yield f"{step_text(job)} takes {time_text(job.facts.replayed_us)}"


def job_verdict_texts(job: JobData) -> Iterator[str]:
    """Yield a few sentences: who makes the others wait, what to do, the gain."""
    answer, decode = job.answer, decode_texts(job)
    if answer.verdict == "unknown":
        yield from decode or [NOT_JOINED]
        return
    shares = (answer.low_fraction, answer.middle_fraction, answer.high_fraction)
    saves = f"{shares_text(*shares)} of {step_text(job)}"
    if answer.verdict == "even" and decode:
        yield from decode
        yield f"By replay, equal speed would save {saves}."
    elif answer.verdict == "even":
        yield f"No rank is late{among_text(job)}: equal speed would save {saves}."
    elif answer.verdict == "transfers":
        yield (
            "Transfers are slow: at the usual time of their name and size they would "
            f"save {saves}."
        )
    else:
        first = answer.rows[0] if answer.rows else None
        yield _late_sentence(job, first)
        if first is not None and first.of == "late" and first.middle_fraction:
            fix = f"{first.fix}. " if first.fix else ""
            yield f"{printable(fix)}A fix saves {gain_of(first)} of {step_text(job)}."
        else:
            yield f"If all ranks worked at the others' speed, that would save {saves}."
    if answer.verdict != "even":
        yield from decode


def _late_sentence(job: JobData, row: JobAnswerRow | None) -> str:
    is_named = row is not None and row.of in ("late", "late_ranks")
    if (rank := job.facts.sometimes_late) is not None and not is_named:
        return (
            f"Rank {rank} is late in some steps{among_text(job)}: that is most of what "
            "ranks wait for each other."
        )
    if row is None or row.of in ("shared", "decode_skew"):
        return f"Ranks wait for each other in turn{among_text(job)}, for many causes."
    if row.of == "culprits":
        what = culprit_text(job.culprits[row.index])
        return f"Ranks wait for each other{among_text(job)}, most of all for {what}."
    cost = share_text(row.observed_fraction or 0.0, 1)
    if row.of == "late":
        late = job.late[row.index]
        place = f", at {late_place(late)}" if late.location or late.name else ""
        who, them = f"Rank {late.rank} is late{among_text(job)}{place}", "it"
    else:
        several = len(job.late_ranks) > 1
        are, them = ("are late in turn", "them") if several else ("is late", "it")
        who = f"{late_ranks_name(job).capitalize()} {are}{among_text(job)}"
    return f"{who}: others wait for {them} {cost} of all ranks' time."


def _table(job: JobData, width: int) -> list[str]:
    rows = [
        (
            "-"
            if row.observed_fraction is None
            else share_text(row.observed_fraction, 1),
            gain_of(row),
            *_what_and_where(job, row),
        )
        for row in job.answer.rows
    ]
    heads = ("observed", "a fix saves", "what", "where")
    lines = align([heads, *rows], right=(0,), indent="  ")
    if max(map(len, lines)) <= width:
        return lines
    # Places that leave no room beside the figures have lines of their own.
    left = align([(*heads[:3], ""), *((*row[:3], "") for row in rows)], (0,), "  ")
    places = [f"      {row[3]}" for row in rows]
    return [left[0], *(x for pair in zip(left[1:], places, strict=True) for x in pair)]


def _what_and_where(job: JobData, row: JobAnswerRow) -> tuple[str, str]:
    if row.of == "late":
        late = job.late[row.index]
        place = late_place(late)
        at = f", {place}" if place != "-" else ""
        return late_why(late), f"rank {late.rank}{at}"
    if row.of == "late_ranks":
        return "late in turn" if job.late_ranks[1:] else "late", late_ranks_name(job)
    if row.of == "culprits":
        return culprit_text(job.culprits[row.index]), "all ranks"
    if row.of == "decode_skew":
        skew = job.decode_skew[row.index]
        who = "ranks in turn" if skew.rank is None else f"rank {skew.rank}"
        return f"late in {skew.kind} steps", who
    shared = job.shared[row.index]
    return shared.pattern, f"{shared.ranks} of {counted(shared.of, 'rank')}"


def _notes(job: JobData) -> Iterator[str]:
    notes = job.facts.notes
    if notes:
        more = f" ({len(notes) - 1} more)" if notes[1:] else ""
        yield headed("Note", f"{printable(notes[0].detail, 600)}{more}")
    if sum(bool(row.middle_fraction) for row in job.answer.rows) > 1:
        yield "Gains overlap: once one cause is gone, ranks wait for the next."
    if job.answer.caveat:
        yield printable(job.answer.caveat)
