# SPDX-License-Identifier: BSD-3-Clause
"""analyze_job.py: shared by commands that take the traces of a job's ranks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.errors import TraceError
from torchtraceap.base.units import counted
from torchtraceap.cli.output import (
    BAD_INPUT,
    OK,
    Refused,
    about,
    complain,
    say_lines,
    stage,
)
from torchtraceap.cli.targets import (
    Target,
    prints_summary,
    write,
    write_report,
    writing,
)
from torchtraceap.data.detector_choice import OFF
from torchtraceap.data.load import plan_load
from torchtraceap.data.source import RankPaths, is_of_ranks, source_of
from torchtraceap.ranks.job import job_of_ranks
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.rank_files import find_ranks
from torchtraceap.ranks.recordings import RankFiles
from torchtraceap.views.answer_text import screen_width
from torchtraceap.views.job_answer import job_answer_line, job_answer_lines
from torchtraceap.views.job_json import job_json_text
from torchtraceap.views.job_text import job_lines
from torchtraceap.views.outputs import Output

TRACES = (
    "a .json or .pftrace file; a folder or 'pattern' of a job's ranks; or each rank"
)


def _page(job: JobReport) -> str:
    from torchtraceap.views.html.job_page import job_page

    return job_page(job)


# Forms of a job that are its own; others hold a report for each rank.
_TEXTS: Mapping[str, Callable[[JobReport], str]] = {
    "json": job_json_text,
    "html": _page,
}
_FORMS = (*_TEXTS, "perfetto")
_FAILED = "rank_failed"  # a note for each file that could not be read


def ranks_of(options: argparse.Namespace) -> RankFiles | None:
    """Return the traces that a command was given if they are of one job: a folder, a
    pattern, or a list of files of different ranks; None if each is by itself.

    Raises Refused for invalid combinations.
    """
    traces: Sequence[str] = options.traces
    if len(traces) > 1 and any(map(is_of_ranks, traces)):
        raise Refused(
            "a folder or a pattern is one job. Run the command for each, or name the "
            "files of one job."
        )
    with about(traces[0]):
        source = source_of(traces if len(traces) > 1 else traces[0])
        if not isinstance(source, RankPaths):
            return None
        try:
            files = find_ranks(source)
        except TraceError:
            if source.is_list:
                return None  # Faults of a file are reported when it is read.
            raise
    return files if files.recording.has_ranks or not source.is_list else None


def unless_alone(
    files: RankFiles | None, options: argparse.Namespace
) -> RankFiles | None:
    """Return the traces of a job; the only trace of a folder becomes the command's, and
    standard error lists the files beside it that are none."""
    if files is None or files.alone is None:
        return files
    options.traces = [files.alone]
    for note in files.notes:
        complain(note.detail)
    return None


def read_job(
    files: RankFiles,
    options: argparse.Namespace,
    detector: str = OFF,
    capture: str | None = None,
) -> JobReport | None:
    """Analyze the ranks of a job, saying how many are done; None for traces that turn
    out to be of none: files of a list that have nothing to do with each other, or the
    only trace of a folder.

    Standard error lists what could not be read: `failed_ranks` counts it.
    """
    done: tuple[float | None, str] = (None, "")

    def count(number: int, of: int) -> None:
        nonlocal done
        done = (number / of, f"{number} of {of}")

    reducing = stage("reducing the traces of ranks", options.quiet, lambda: done)
    with about(files.source), reducing:
        job = job_of_ranks(
            files,
            plan_load(**options.loading),
            plan_analysis(
                None,
                **options.analysis,
                detector=detector,
                capture=capture,
                recover=options.recover,
            ),
            counted=count,
            skips=True,
        )
    if job.fault is not None or (files.is_list and not is_joined(job)):
        return None
    for note in job.facts.notes:
        if note.kind == _FAILED:
            complain(note.detail)
    if failed := failed_ranks(job):
        of = counted(failed + job.facts.ranks, "trace")
        complain(f"{failed} of {of} failed")
    return job


def is_joined(job: JobReport) -> bool:
    """Tell whether traces are of ranks with a collective in common."""
    return job.fault is None and bool(job.facts.joined_collectives or job.decode_skew)


def failed_ranks(job: JobReport) -> int:
    """Return how many ranks could not be read."""
    return sum(note.count for note in job.facts.notes if note.kind == _FAILED)


def refuse_forms(wanted: Iterable[Output], options: argparse.Namespace) -> None:
    """Raise Refused for a form that neither a job has nor several reports together."""
    for output in wanted:
        if output.name not in _FORMS and not output.takes_several:
            raise Refused(
                f"--{output.name} takes one trace. Name the file of one rank."
            )
    if options.tables:
        raise Refused("--tables takes one trace. Name the file of one rank.")


def traces_of(options: argparse.Namespace, files: RankFiles | None) -> list[str]:
    """Return the files that a command reads, which it must not overwrite."""
    found = files.recording.files if files is not None else ()
    return [*options.traces, *(file.path for file in found)]


def show_job(
    job: JobReport, options: argparse.Namespace, wanted: Mapping[Output, Target]
) -> int:
    """Print and write a job as it was asked for, and return the exit code."""
    if prints_summary(options, wanted.values()):
        if options.brief:
            say_lines([job_answer_line(job)])
        elif options.full:
            say_lines(job_lines(job))
        else:
            say_lines(job_answer_lines(job, screen_width()))
    for output, target in wanted.items():
        with stage(f"writing {target.path}", options.quiet):
            if text := _TEXTS.get(output.name):
                with writing(target):
                    made = text(job)
                write(target, made)
            elif output.name in _FORMS:
                with writing(target):
                    job.to_perfetto(target.path)
            else:
                write_report(output, job, target, several=True)
    return BAD_INPUT if failed_ranks(job) else OK
