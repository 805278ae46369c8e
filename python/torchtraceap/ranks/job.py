# SPDX-License-Identifier: BSD-3-Clause
"""job.py: from the traces of several ranks to the report of their job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from torchtraceap._core import Note
from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.safe_text import printable
from torchtraceap.data.load import LoadPlan
from torchtraceap.data.source import LIST, RankPaths
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.joining import AnalyzedRank, join_ranks
from torchtraceap.ranks.merged import FAULTS, analyzed_ranks
from torchtraceap.ranks.rank_files import find_ranks
from torchtraceap.ranks.rank_record import RankRecord, record_of
from torchtraceap.ranks.recordings import FILE, RankFile, RankFiles, Recording
from torchtraceap.ranks.reducing import needed_bytes, reduce_files
from torchtraceap.report import Report

# Reports of files that need less memory together are kept, as is that of a single
# file, and no process is started for them: that takes longer than they do.
_KEPT_BYTES = 128 << 20

#: Called with how many files are done, and of how many.
Counted = Callable[[int, int], object]


def job_of_files(
    source: RankPaths, loading: LoadPlan, plan: AnalysisPlan
) -> JobReport | Report:
    """Analyze the files of a folder, a glob, a mapping or a list of paths. The only
    trace of a folder or glob gives its report, unless it is of a larger job.

    Raises TraceError if no file of a folder or glob can be read, or its files are not
    ranks of one job. Files that the caller named one by one raise what ``analyze``
    does, and need not be of one job.
    """
    try:
        files = find_ranks(source)
    except TraceError as fault:
        if not source.is_list or source.by_rank is not None:
            raise
        alone = [RankFile(path, None) for path in source.paths]
        read, _ = _read(alone, loading, plan)
        return JobReport([one.report for one in read], None, fault)
    job = job_of_ranks(files, loading, plan, skips=not files.is_list)
    return job if job.fault is None or files.is_list else job[0]


def job_of_ranks(
    files: RankFiles,
    loading: LoadPlan,
    plan: AnalysisPlan,
    *,
    counted: Counted | None = None,
    skips: bool,
    most: int | None = None,
) -> JobReport:
    """Analyze the traces of a job, with ``most`` processes at a time (`reduce_files`);
    raises what `job_of_files` does.

    With ``skips``, what cannot be read is left out, and the job's notes say so; only if
    nothing is left is it an error. A single trace is its ``fault``, and no error.
    """
    read, notes = _read(files.recording.files, loading, plan, counted, skips, most)
    if files.order:
        read.sort(key=lambda one: files.order.index(one.file.path))
    job = join_ranks(files, read, notes)
    if job.fault is None or files.is_list:
        return job
    if job.fault.kind != "one_rank":
        raise job.fault
    if notes:  # The one that is left has no place for them.
        raise trace_error(
            read[0].file.path,
            "rank_failed",
            f"it is the only trace of {len(notes) + 1} that can be read: "
            f"{notes[0].detail.rstrip('.')}",
            "Record the others again or remove them, or name this file",
        )
    return job


def _read(
    files: Sequence[RankFile],
    loading: LoadPlan,
    plan: AnalysisPlan,
    counted: Counted | None = None,
    skips: bool = False,
    most: int | None = None,
) -> tuple[list[AnalyzedRank], list[Note]]:
    read: list[AnalyzedRank] = []
    notes: list[Note] = []
    for answer in _reduced(files, loading, plan, counted, most):
        if not isinstance(answer, Exception):
            read += answer
        elif not skips:
            raise answer
        else:
            why = printable(str(answer), 600)
            notes.append(Note("rank_failed", 1, why, "degraded"))
            last_fault = answer
    if not read:
        raise last_fault
    return read, notes


def job_of_reports(reports: Sequence[Report]) -> JobReport:
    """Join reports that are in memory: of bytes, of traces, of profilers."""
    ranks = [_kept(r, RankFile(r.trace.path, None), record_of(r)) for r in reports]
    return join_ranks(RankFiles(LIST, Recording(LIST, (), None), True), ranks, [])


def _reduced(
    files: Sequence[RankFile],
    loading: LoadPlan,
    plan: AnalysisPlan,
    counted: Counted | None,
    most: int | None = None,
) -> Iterator[list[AnalyzedRank] | Exception]:
    """Yield the ranks in each file, or why there are none."""
    paths = [file.path for file in files]
    # A user's own rules may be of a module that no other process can import.
    large = sum(map(needed_bytes, paths)) > _KEPT_BYTES
    if large and len(paths) > 1 and not plan.rules:
        answers = reduce_files(paths, loading, plan, counted, most)
        for file, answer in zip(files, answers, strict=True):
            if isinstance(answer, Exception):
                yield answer
                continue
            yield [
                AnalyzedRank(
                    file_of(file, record, len(answer)),
                    record,
                    partial(_analyzed, file.path, loading, plan, place),
                )
                for place, record in enumerate(answer)
            ]
        return
    for done, file in enumerate(files, 1):
        try:
            reports = list(analyzed_ranks(file.path, loading, plan))
            pairs = [(report, record_of(report)) for report in reports]
            yield [
                _kept(report, file_of(file, record, len(pairs)), record)
                for report, record in pairs
            ]
        except FAULTS as error:
            yield error
        if counted is not None:
            counted(done, len(files))


def file_of(file: RankFile, record: RankRecord, ranks: int) -> RankFile:
    """Return the file of one rank; of a merged file each has its own number."""
    if ranks == 1:
        return file
    return replace(file, rank=record.facts.rank, rank_from=FILE, name_rank=None)


def _kept(report: Report, file: RankFile, record: RankRecord) -> AnalyzedRank:
    return AnalyzedRank(file, record, lambda: report)


def _analyzed(path: str, loading: LoadPlan, plan: AnalysisPlan, place: int) -> Report:
    for at, report in enumerate(analyzed_ranks(path, loading, plan)):
        if at == place:
            return report
    hint = "Load it again when it is complete"
    raise trace_error(path, "changed", "the file was changed since it was read", hint)
