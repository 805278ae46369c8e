# SPDX-License-Identifier: BSD-3-Clause
"""job_text.py: the ranks of a job as plain text: the verdict, who is late and why, each
rank beside the others, the collectives, and how sure all that is."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from torchtraceap._core import CollectiveRow, Late, RankRow
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import bytes_text, counted, share_text, time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.job_words import (
    collective_text,
    culprit_text,
    is_slowed,
    late_place,
    late_why,
    missing_text,
    notable_causes,
    notable_culprits,
    on_gpus,
    slowdown_text,
    step_text,
    together_text,
    waited_text,
)

_EXPLAINED = 3  # causes in words: what anyone would look into first


def write_job(job: JobData, rows: int) -> str:
    """Return the text, with at most so many causes, ranks, collectives and notes."""
    causes = notable_causes(job)
    blocks = [
        list(_heading(job, rows)),
        list(_causes(job, causes, rows)),
        list(_culprits(job, rows)),
        list(_ranks(job, rows)),
        list(_collectives(job, rows)),
        list(_trust(job)),
        list(_closer(job, causes)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _heading(job: JobData, rows: int) -> Iterator[str]:
    facts = job.facts
    yield printable(_name(job))
    of = f" of {facts.world_size}" if facts.world_size else ""
    ranks = (
        f"{facts.ranks}{of} rank{'s' if (facts.world_size or facts.ranks) > 1 else ''}"
    )
    steps = counted(facts.steps, "step") if facts.steps else "no steps"
    parts = [ranks, missing_text(facts.missing), steps, _devices(job.ranks)]
    hosts = {row.host for row in job.ranks} - {""}
    if len(hosts) > 1:
        parts.append(counted(len(hosts), "host"))
    if facts.recording and facts.recording != facts.source:
        parts.append(f"recording {printable(facts.recording)}")
    yield from wrapped(", ".join(filter(None, parts)), "  ")
    yield from wrapped(slowdown_text(job), "  ")
    yield from _first(
        [f"Note: {printable(note.detail, 600)}" for note in facts.notes], rows, "notes"
    )


def _name(job: JobData) -> str:
    """Return what was named; of files that were, the first."""
    paths = list(dict.fromkeys(row.path for row in job.ranks))
    if job.facts.source != job.facts.recording and len(paths) > 1:
        return job.facts.source
    return " and ".join(
        [*paths[:1], *([f"{len(paths) - 1} more"] if paths[1:] else [])]
    )


def _devices(ranks: Sequence[RankRow]) -> str:
    names = sorted({row.device for row in ranks})
    if names == ["CPU"]:
        return "CPU only"
    return " and ".join(printable(name, 40) for name in names)


def _first(texts: Sequence[str], most: int, what: str) -> Iterator[str]:
    for text in texts[:most]:
        yield from wrapped(text, "  ")
    if len(texts) > most:
        yield f"and {len(texts) - most} more {what}"


def _causes(job: JobData, causes: Sequence[Late], rows: int) -> Iterator[str]:
    gpus = on_gpus(job)
    waited = together_text(job.facts.waited_us, gpus)
    if not job.facts.joined_collectives:
        return
    if not causes:
        who = "none" if not is_slowed(job) else "no single cause"
        yield from wrapped(
            f"Who is late: {who}. Ranks waited {waited} for each other, now for this "
            "one and now for that.",
            "  ",
        )
        return
    yield "Who is late, and why, the most waited for first:"
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
    for line in align(cells, right=(3,)):
        yield f"  {line}"
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
    return f"; without it {step_text(job)} is {time_text(late.gain_us)} shorter"


def _unexplained(job: JobData, causes: Sequence[Late]) -> str:
    """Say how much lateness has no cause in the traces, beside the causes above."""
    left = sum(late.waited_us for late in job.late if not late.kind)
    if not left:
        return "The rest is of many small causes."
    return (
        f"For {share_text(left, job.facts.waited_us)} the late rank's trace shows no "
        "cause: nothing was recorded there, or its clock is off."
    )


def _culprits(job: JobData, rows: int) -> Iterator[str]:
    culprits = notable_culprits(job)
    if not culprits:
        return
    yield f"What {step_text(job)} would be shorter with one of them as is usual:"
    cells = [
        (
            culprit_text(one),
            time_text(one.gain_us),
            share_text(one.gain_us, job.facts.replayed_us),
        )
        for one in culprits[:rows]
    ]
    for line in align(cells, right=(1, 2)):
        yield f"  {line}"


def _ranks(job: JobData, rows: int) -> Iterator[str]:
    ranks = list(job.ranks)
    title = "Ranks:"
    if len(ranks) > rows:
        ranks = sorted(ranks, key=lambda row: -row.caused_us)[:rows]
        title = f"Ranks, the most waited for first ({rows} of {len(job.ranks)}):"
    columns = [one for one in _RANK_COLUMNS if one[0] not in _same_for_all(job.ranks)]
    yield title
    table = [[name for name, _ in columns]]
    table += [[text(row) for _, text in columns] for row in ranks]
    numbers = [at for at, (name, _) in enumerate(columns) if name not in _TEXTS]
    for line in align(table, right=numbers):
        yield f"  {line}"
    yield from wrapped(
        "waited: from its own start in a collective until all had started; transfer: "
        "from then on; exposed: in collectives, with no computation beside; last: how "
        "often it came last; caused: what the others waited for it; gain: what "
        f"{step_text(job)} would be shorter, did its work take what it takes others.",
        "  ",
        first="  ",
    )


_RankColumn = tuple[str, Callable[[RankRow], str]]
_RANK_COLUMNS: tuple[_RankColumn, ...] = (
    ("rank", lambda row: str(row.rank)),
    ("stage", lambda row: "" if row.stage is None else str(row.stage)),
    ("busy", lambda row: share_text(row.busy_us, row.span_us)),
    ("waited", lambda row: time_text(row.waited_us)),
    ("transfer", lambda row: time_text(row.transfer_us)),
    ("exposed", lambda row: time_text(row.exposed_us)),
    ("last", lambda row: f"{row.last:,}×"),
    ("caused", lambda row: time_text(row.caused_us)),
    ("gain", lambda row: _gain(row.gain_us)),
    ("host", lambda row: printable(row.host, 20)),
    ("device", lambda row: printable(row.device, 30)),
    ("quality", lambda row: row.verdict),
)
_TEXTS = ("host", "device", "quality")
_IF_DIFFERENT = {"stage", *_TEXTS}  # Where all ranks are alike in it.


def _same_for_all(ranks: Sequence[RankRow]) -> set[str]:
    """Return the columns that would say the same of each rank."""
    return {
        name
        for name, text in _RANK_COLUMNS
        if name in _IF_DIFFERENT and len({text(row) for row in ranks}) == 1
    }


def _gain(us: float | None) -> str:
    """Write a gain; what others make up for is none, and of many ranks only those that
    others waited for most are asked."""
    return "-" if us is None else time_text(max(0.0, us))


def _collectives(job: JobData, rows: int) -> Iterator[str]:
    if not job.collectives:
        return
    yield "Collectives, all ranks together:"
    head = ("collective", "size", "times", "waited", "transfer", "exposed", "")
    shown = [_collective(row) for row in job.collectives[:rows]]
    for line in align([head, *shown], right=range(1, 6)):
        yield f"  {line}"
    if more := job.collectives[rows:]:
        yield f"  and {len(more)} more"
    if any(row.small for row in job.collectives):
        yield from wrapped(
            "small: less than 1 MiB, where starting it costs more than sending: one "
            "larger collective in place of many would cost less.",
            "  ",
            first="  ",
        )


def _collective(row: CollectiveRow) -> tuple[str, ...]:
    return (
        collective_text(row.name, None),
        "?" if row.bytes is None else bytes_text(row.bytes),
        f"{row.count:,}×",
        time_text(row.wait_us),
        time_text(row.transfer_us),
        time_text(row.exposed_us),
        "small" if row.small else "",
    )


def _trust(job: JobData) -> Iterator[str]:
    """Say how sure all this is, and what is not covered."""
    facts = job.facts
    if not facts.joined_collectives:
        return
    yield from wrapped(
        "Clocks: with hosts set so that collectives end together, those of the worst "
        f"rank end within {time_text(facts.clock_residual_us)} of the others' "
        "(median): a shorter wait is no difference.",
        "  ",
    )
    error = share_text(facts.replay_error, 1)
    yield from wrapped(
        f"Replay: a step of the unchanged job comes out {error} off what was recorded.",
        "  ",
    )
    unknown = []
    if facts.unmatched:
        unknown.append(f"{counted(facts.unmatched, 'collective')} of one rank alone")
    if facts.contradicted:
        unknown.append(
            f"{facts.contradicted:,} whose ranks were not in it at the same time"
        )
    if unknown:
        yield from wrapped(f"Not joined: {' and '.join(unknown)}.", "  ")


def _closer(job: JobData, causes: Sequence[Late]) -> Iterator[str]:
    rows = {row.rank: row for row in job.ranks}
    worst = max(job.ranks, key=lambda row: row.caused_us, default=None)
    row = rows.get(causes[0].rank) if causes else worst
    if row is None:
        return
    how = f"torchtraceap analyze {shlex.quote(row.path)}"
    if sum(other.path == row.path for other in job.ranks) > 1:  # A merged file.
        how = f"torchtraceap.analyze([{row.path!r}]).rank({row.rank}) in Python"
    yield f"To look closer at rank {row.rank}: {printable(how)}"
