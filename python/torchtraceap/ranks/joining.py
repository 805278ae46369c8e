# SPDX-License-Identifier: BSD-3-Clause
"""joining.py: analyzed ranks joined into a job, where they are of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from torchtraceap import _core
from torchtraceap._core import Note
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.safe_text import printable
from torchtraceap.data.source import LIST
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import (
    RankFile,
    RankFiles,
    Recording,
    settle,
    settled,
)
from torchtraceap.report import Report

_ONCE = "Name the files of one recording, each once"


@dataclass(frozen=True)
class AnalyzedRank:
    """A rank whose trace was analyzed."""

    file: RankFile
    record: RankRecord
    report: Callable[[], Report]  #: Returns its report, or analyzes its file again.

    @property
    def rank(self) -> int | None:
        """Its number; None if neither its file nor its name has one."""
        return settled(self.file, self.record.facts).rank


def join_ranks(
    files: RankFiles, ranks: Sequence[AnalyzedRank], notes: Sequence[Note]
) -> JobReport:
    """Join ranks; where they are not of one job, the report's ``fault`` says why."""
    if not ranks:
        nothing = trace_error(LIST, "no_traces", "it is empty", _ONCE)
        return JobReport([], None, nothing)
    ordered = [one.report for one in ranks]
    recording = replace(files.recording, files=tuple(one.file for one in ranks))
    try:
        known = settle(
            replace(files, recording=recording), [one.record.facts for one in ranks]
        )
    except TraceError as fault:
        return JobReport(ordered, None, fault)
    recording = known.recording
    if len(ranks) == 1 and recording.world_size in (None, 1):
        hint = "Name the folder, or the files, that the profilers of all ranks wrote"
        cause = "it does not belong to a job of several ranks"
        alone = trace_error(ranks[0].file.path, "one_rank", cause, hint)
        return JobReport(ordered, None, alone)
    # The settled files are in order of rank; each is the one of its path and number.
    by_file = {(one.file.path, one.rank): one for one in ranks}
    by_rank = [
        replace(by_file[file.path, file.rank], file=file) for file in recording.files
    ]
    if not files.is_list:
        ranks = by_rank
        ordered = [one.report for one in ranks]
    places = {one.rank or 0: place for place, one in enumerate(ranks)}
    # Ranks may share their captures.
    captures = {note.detail: note for one in by_rank for note in one.record.notes}
    every_note = [*known.notes, *notes, *captures.values(), *_rank_notes(by_rank)]
    path = by_rank[0].file.path
    try:
        joined = JoinedJob(files.source, recording, by_rank, every_note)
    except RuntimeError as error:
        cause = f"the ranks were not there at the same collectives ({error})"
        contrary = trace_error(path, "contrary", cause, _ONCE)
        return JobReport(ordered, None, contrary)
    if known.apart and not joined.facts.joined_collectives:
        # Neither a time nor a collective that two of them share.
        cause = f"{known.apart[0].detail} They have no collective in common"
        apart = trace_error(path, "other_job", cause, "Name the files of one job")
        return JobReport(ordered, None, apart)
    return JobReport(ordered, joined, None, places)


def _rank_notes(ranks: Sequence[AnalyzedRank]) -> Iterable[Note]:
    """Yield notes on ranks that are not joined, and on unequal numbers of steps."""
    for rank in ranks:
        if rank.record.work is None:
            why = f"{rank.file.path}: {rank.record.refusal}. It is not joined."
            yield Note("rank_not_joined", 1, printable(why, 600), "degraded")
    counts = {rank.record.row.steps for rank in ranks}
    if len(counts) > 1:
        text = (
            f"the ranks recorded {min(counts)} to {max(counts)} steps: only those that "
            "all have can be compared. Record the same steps on all ranks."
        )
        yield Note("uneven_steps", len(counts), text, "degraded")


class JoinedJob:
    """The rows of a job, as the core writes them."""

    def __init__(
        self,
        source: str,
        recording: Recording,
        ranks: Sequence[AnalyzedRank],
        notes: Sequence[Note],
    ) -> None:
        """Join ranks in order of their numbers. Raises RuntimeError if they contradict
        each other."""
        job = _core.JobResult([_core_record(one) for one in ranks])
        self.facts = job.facts.replace(
            source=source,
            recording=recording.name,
            ranks=len(ranks),
            world_size=recording.world_size,
            missing=recording.missing,
            notes=tuple(notes),
        )
        self.answer = job.answer
        self.ranks = job.ranks
        self.late = job.late
        self.late_ranks = job.late_ranks
        self.shared = job.shared
        self.decode_skew = job.decode_skew
        self.causes = job.causes
        self.steps = job.steps
        self.joined_collectives = job.joined_collectives
        self.collectives = job.collectives
        self.culprits = job.culprits


def _core_record(rank: AnalyzedRank) -> _core.RankRecord:
    record = rank.record
    number = -1 if rank.file.rank is None else rank.file.rank
    row = record.row.replace(rank=number, path=rank.file.path)
    return _core.RankRecord(row, record.findings, record.work)
