# SPDX-License-Identifier: BSD-3-Clause
"""making.py: from what a user names to the report of a job."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torchtraceap._core import Note
from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.base.errors import TraceError
from torchtraceap.base.safe_text import printable
from torchtraceap.data.load import LoadPlan
from torchtraceap.ranks.analyzed_ranks import FAULTS, analyzed_ranks
from torchtraceap.ranks.candidates import is_of_ranks, trace_error
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.joining import JobRank, JoinedJob
from torchtraceap.ranks.rank_files import RankSource, find_ranks
from torchtraceap.ranks.rank_record import RankRecord, record_of
from torchtraceap.ranks.recordings import FILE, RankFile, RankFiles, Recording
from torchtraceap.ranks.reducing import needed_bytes, reduce_files
from torchtraceap.ranks.settling import settle, settled
from torchtraceap.report import Report

# Of files that need less memory together, the reports are kept, and no process is
# started for them: that takes longer than they do.
_KEPT_BYTES = 128 << 20

_ONCE = "Name the files of one recording, each once"

#: Called with how many files are done, and of how many.
Counted = Callable[[int, int], object]


@dataclass(frozen=True)
class _Read:
    """A rank that could be read."""

    file: RankFile
    record: RankRecord
    report: Callable[[], Report]

    @property
    def rank(self) -> int | None:
        return settled(self.file, self.record.facts).rank


def job_of_files(
    source: RankSource,
    loading: LoadPlan,
    plan: AnalysisPlan,
    *,
    recording: str | None = None,
    counted: Counted | None = None,
    skips: bool = False,
) -> JobReport:
    """Analyze the files that a folder, a glob, a mapping or a list of paths stands for.

    Of a folder or glob, what cannot be read is left out, and the job's notes say so; a
    TraceError if nothing is left, or the files are no ranks of one job. What the caller
    named file by file raises what ``analyze`` does, and need be of no job; but with
    ``skips`` it is left out as well.
    """
    named = not is_of_ranks(source)
    fault: TraceError | None = None
    paths: list[str] = []
    if named and not isinstance(source, str | os.PathLike | Mapping):
        paths = [os.fsdecode(path) for path in source]
    try:
        files = find_ranks(source, recording)
        for path, count in Counter(paths).items():
            if count > 1:
                raise trace_error(path, "rank_clash", "it is named twice", _ONCE)
    except TraceError as error:
        if not paths:
            raise
        fault = error
        one_by_one = [RankFile(path, None) for path in paths]
        files = RankFiles("the list", Recording("the list", tuple(one_by_one), None))
    read: list[_Read] = []
    notes: list[Note] = []
    for answer in _reduced(files.recording.files, loading, plan, counted):
        if not isinstance(answer, Exception):
            read += answer
        elif named and not skips:
            raise answer
        else:
            why = printable(str(answer), 600)
            notes.append(Note("rank_failed", 1, why, "degraded"))
            last_fault = answer
    if not read:
        raise last_fault
    if fault is not None:
        return JobReport([one.report for one in read], None, fault)
    if paths:
        read.sort(key=lambda one: paths.index(one.file.path))
    job = _joined(files, read, notes)
    if job.fault is not None and not named:
        raise job.fault
    return job


def job_of_reports(reports: Sequence[Report]) -> JobReport:
    """Join reports that are in memory: of bytes, of traces, of profilers."""
    read = [
        _Read(
            RankFile(r.trace.path, None),
            record_of(r),
            partial(_same, r),
        )
        for r in reports
    ]
    return _joined(RankFiles("the list", Recording("the list", (), None)), read, [])


def _joined(files: RankFiles, read: list[_Read], notes: list[Note]) -> JobReport:
    """Join what was read, where it is of one job."""
    if not read:
        nothing = trace_error("the list", "no_traces", "it is empty", _ONCE)
        return JobReport([], None, nothing)
    ordered = [one.report for one in read]
    recording = replace(files.recording, files=tuple(one.file for one in read))
    try:
        told = settle(
            replace(files, recording=recording), [one.record.facts for one in read]
        )
    except TraceError as fault:
        return JobReport(ordered, None, fault)
    recording = told.recording
    if len(read) == 1 and recording.world_size in (None, 1):
        hint = "Name the folder, or the files, that the profilers of all ranks wrote"
        cause = "it is no rank of a job of several"
        alone = trace_error(read[0].file.path, "one_rank", cause, hint)
        return JobReport(ordered, None, alone)
    # The settled files are in order of rank; each is the one of its path and number.
    by_file = {(one.file.path, one.rank): one for one in read}
    if files.source != "the list":
        read = [by_file[file.path, file.rank] for file in recording.files]
        ordered = [one.report for one in read]
    places = {one.rank or 0: place for place, one in enumerate(read)}
    ranks = [
        JobRank(file, by_file[file.path, file.rank].record) for file in recording.files
    ]
    for rank in ranks:
        if rank.record.work is None:
            why = f"{rank.file.path}: {rank.record.refusal}. It is not joined."
            notes.append(Note("rank_not_joined", 1, printable(why, 600), "degraded"))
    notes += _uneven_steps(ranks)
    path = ranks[0].file.path
    try:
        joined = JoinedJob(files.source, recording, ranks, [*told.notes, *notes])
    except RuntimeError as error:
        cause = f"the ranks were not there at the same collectives ({error})"
        contrary = trace_error(path, "contrary", cause, _ONCE)
        return JobReport(ordered, None, contrary)
    if told.apart and not joined.facts.meetings:
        # Neither a time nor a collective that two of them share.
        cause = f"{told.apart[0].detail} They have no collective in common"
        apart = trace_error(path, "other_job", cause, "Name the files of one job")
        return JobReport(ordered, None, apart)
    return JobReport(ordered, joined, None, places)


def _uneven_steps(ranks: Sequence[JobRank]) -> list[Note]:
    """Say that ranks recorded other numbers of steps: they share at most the least."""
    counts = [rank.record.step_count for rank in ranks]
    if len(set(counts)) < 2:
        return []
    text = (
        f"the ranks recorded {min(counts)} to {max(counts)} steps: only those that all "
        "have can be compared. Record the same steps on all ranks."
    )
    return [Note("uneven_steps", len(set(counts)), text, "degraded")]


def _reduced(
    files: Sequence[RankFile],
    loading: LoadPlan,
    plan: AnalysisPlan,
    counted: Counted | None,
) -> Iterator[list[_Read] | Exception]:
    """Yield the ranks in each file, or why there are none."""
    paths = [file.path for file in files]
    # A user's own rules may be of a module that no other process can import.
    if sum(map(needed_bytes, paths)) > _KEPT_BYTES and not plan.rules:
        answers = reduce_files(paths, loading, plan, counted)
        for file, answer in zip(files, answers, strict=True):
            if isinstance(answer, Exception):
                yield answer
                continue
            yield [
                _Read(
                    _file_of(file, record, len(answer)),
                    record,
                    partial(_analyzed, file.path, loading, plan, place),
                )
                for place, record in enumerate(answer)
            ]
        return
    for done, file in enumerate(files, 1):
        try:
            reports = list(analyzed_ranks(file.path, loading, plan))
            records = [record_of(report) for report in reports]
            yield [
                _Read(_file_of(file, record, len(records)), record, partial(_same, r))
                for record, r in zip(records, reports, strict=True)
            ]
        except FAULTS as error:
            yield error
        if counted is not None:
            counted(done, len(files))


def _file_of(file: RankFile, record: RankRecord, ranks: int) -> RankFile:
    """Return the file of one rank; of a merged file each has its own number."""
    if ranks == 1:
        return file
    return replace(file, rank=record.facts.rank, rank_from=FILE, name_rank=None)


def _same(report: Report) -> Report:
    return report


def _analyzed(path: str, loading: LoadPlan, plan: AnalysisPlan, place: int) -> Report:
    for at, report in enumerate(analyzed_ranks(path, loading, plan)):
        if at == place:
            return report
    raise TraceError(
        f"{path}: the file was changed since it was read.", path, "changed"
    )
