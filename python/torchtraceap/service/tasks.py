# SPDX-License-Identifier: BSD-3-Clause
"""tasks.py: what a child process of the server does: one trace, job or question.

A task comes as a pickle and leaves as one: an answer, or a fault that the client reads.
"""

from __future__ import annotations

import logging
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from torchtraceap.analysis_plan import of_torch, plan_analysis
from torchtraceap.base import children
from torchtraceap.base.errors import TraceError
from torchtraceap.base.program_files import read_below
from torchtraceap.base.roots import Roots, RootsError
from torchtraceap.base.safe_text import printable, writable
from torchtraceap.data.detector_choice import OFF
from torchtraceap.data.load import plan_load, read_trace
from torchtraceap.data.source import RankPaths, files_below
from torchtraceap.ranks.job import job_of_ranks
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.rank_files import find_ranks
from torchtraceap.report import Report
from torchtraceap.views.html.job_page import job_page
from torchtraceap.views.html.page import page_html
from torchtraceap.views.job_json import job_json
from torchtraceap.views.json_form import json_text, report_form

_log = logging.getLogger("torchtraceap.service")
#: Of a report or a job, as of `Answer`.
MEDIA = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
}
_MOST_FILES = 20_000  # Files and folders below the folder of a job.
# How the loader names an option, and how it is named here.
_RECOVER = ("(recover=True, --recover)", "(?recover=true of the API)")
_TOO_LARGE = (
    "gzip_bomb",
    "gzip_limit",
    "pftrace_limit",
    "too_large",
    "too_many_events",
)


@dataclass(frozen=True)
class TraceTask:
    """A trace, or the traces of a job's ranks, to report on in one form."""

    roots: tuple[str, ...]
    #: Below the roots: a file, or the folder of a job; of an upload each file of it.
    names: tuple[str, ...]
    is_job: bool
    form: str
    recover: bool
    steps: tuple[int, int] | None
    text_bytes: int  #: The most of a trace, uncompressed.
    threads: int  #: That read it.


@dataclass(frozen=True)
class FleetTask:
    """A question over a data set, or its report in a form that is not JSON."""

    folder: str
    question: str | None
    form: str
    most: int  #: Rows.


@dataclass(frozen=True)
class Answer:
    """What the client asked for."""

    form: str
    body: bytes


@dataclass(frozen=True)
class Fault:
    """Why there is no answer."""

    status: int  #: Of HTTP.
    kind: str  #: A stable word.
    detail: str


@dataclass(frozen=True)
class Reply:
    """What a child returns for a task."""

    outcome: Answer | Fault
    peak_bytes: int  #: The most memory that the child has taken so far.


def run_task(task: TraceTask | FleetTask) -> Answer | Fault:
    """Return the answer to a task. Raises nothing that a trace may cause."""
    try:
        made = _fleet(task) if isinstance(task, FleetTask) else _trace(task)
    except Exception as error:
        return _fleet_fault(error) if isinstance(task, FleetTask) else _fault(error)
    return Answer(task.form, writable(made).encode())


def _fleet_fault(error: Exception) -> Fault:
    """Return the fault of a data set, which is the server's: its text goes to the log,
    since it names files that the client did not."""
    _log.warning("the data set cannot be read: %s: %s", type(error).__name__, error)
    text = "the data set of the server cannot be read. Its log tells why."
    return Fault(503, "fleet_unavailable", text)


def _fault(error: Exception) -> Fault:
    """Return the fault that an exception of a trace's analysis is."""
    if isinstance(error, RootsError):
        return Fault(404, "no_such_file", str(error))
    if isinstance(error, TraceError):
        status = 413 if error.kind in _TOO_LARGE else 422
        return Fault(status, error.kind, str(error).replace(*_RECOVER))
    if isinstance(error, _TooMuch):
        return Fault(413, "too_large", str(error))
    if isinstance(error, MemoryError):
        return Fault(413, "memory", "it does not fit into memory. Send fewer steps.")
    if isinstance(error, FileNotFoundError):
        return Fault(404, "no_such_file", f"{error}. Check the path.")
    if isinstance(error, ValueError):  # ConfigError, among others.
        return Fault(422, "invalid", str(error))
    why = printable(f"{type(error).__name__}: {error}", 400)
    text = f"the analysis failed, through no fault of the trace ({why})"
    return Fault(500, "internal", f"{text}. Please report it.")


def _trace(task: TraceTask) -> str:
    """Analyze what lies below the first root by its relative path, which is how all
    messages and reports name it then."""
    read_below(Roots([]))  # Sources of programs are not for clients of a server.
    roots = Roots(task.roots)
    os.chdir(roots.folders[0])
    text = _Text(task.text_bytes)
    loading = plan_load(
        recover=task.recover,
        steps=task.steps,
        max_text_bytes=task.text_bytes,
        threads=task.threads,
        progress=text.grow if task.is_job else False,
    )
    plan = plan_analysis(detector=OFF)
    found = [roots.find(name) for name in task.names]
    paths = [roots.name(file.path) for file in found]
    if task.is_job:
        files = find_ranks(_ranks(roots, paths, found[0].is_folder))
        # In this process alone: it has the limits, and is one of --workers.
        job = job_of_ranks(files, loading, plan, counted=text.add, skips=True, most=1)
        if job.fault is not None:
            raise job.fault
        made = _JOB_FORMS[task.form](job)
    else:
        if found[0].is_folder:
            raise ValueError(
                f"{found[0].given}: is a folder. Ask for it as a job, or name a trace."
            )
        if not found[0].path.endswith(".gz") and found[0].size > task.text_bytes:
            raise TraceError(
                f"{paths[0]}: has {found[0].size} bytes, and this server takes "
                f"{task.text_bytes} (--max-text-bytes). Send fewer steps.",
                kind="too_large",
            )
        report = plan.report(read_trace(paths[0], loading), loading.steps)
        made = _REPORT_FORMS[task.form](of_torch(report))
    try:
        for file in found:
            roots.refuse_changed(file)
    except RootsError as error:
        raise TraceError(str(error), kind="changed") from error
    return made


class _TooMuch(Exception):
    """The traces of a job have more text than a server takes; no fault of one file."""


class _Text:
    """Counts the text of a job's files."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._before = self._now = 0

    def grow(self, _fraction: float, text_bytes: int, _events: int) -> None:
        """Heed the progress of a file. Raises _TooMuch."""
        # A part of a file is read in two passes, the second from its begin again.
        self._now = max(self._now, text_bytes)
        if self._before + self._now > self._most:
            raise _TooMuch(
                f"the traces of the job have more than {self._most} bytes of text "
                "together, which is what this server takes (--max-text-bytes). Send "
                "fewer ranks or steps."
            )

    def add(self, _done: int, _of: int) -> None:
        """Heed the end of a file."""
        self._before += self._now
        self._now = 0


def _ranks(roots: Roots, paths: list[str], is_folder: bool) -> RankPaths:
    if not is_folder:
        text = paths[0] if len(paths) == 1 else "upload"
        return RankPaths(text, tuple(paths), os.curdir, is_list=len(paths) == 1)
    left = _MOST_FILES

    def may_read(path: str) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and roots.hold(os.path.realpath(path))

    files = files_below(paths[0], may_read)
    if left < 0:
        raise ValueError(
            f"{paths[0]}: holds more than {_MOST_FILES} files and folders. Give the "
            "folder of one job."
        )
    return files


def _report_json(report: Report) -> str:
    return json_text(report_form(report, with_detector=False), indent=None)


_REPORT_FORMS: dict[str, Callable[[Report], str]] = {
    "json": _report_json,
    "text": Report.summary,
    "html": page_html,
}
_JOB_FORMS: dict[str, Callable[[JobReport], str]] = {
    "json": lambda job: json_text(job_json(job), indent=None),
    "text": JobReport.summary,
    "html": job_page,
}


# --- A fleet ----------------------------------------------------------------------


def _fleet(task: FleetTask) -> str:
    from torchtraceap.fleets import fleet_report as reports
    from torchtraceap.fleets import queries
    from torchtraceap.fleets.regressions import regressions

    if task.question is None:
        report = reports.fleet_report(task.folder)
        if task.form == "text":
            return "\n".join(reports.fleet_lines(report))
        page = task.form == "html"
        return reports.fleet_page(report) if page else reports.fleet_markdown(report)
    data, question, most = queries.connected(task.folder), task.question, task.most
    rows: Any
    if question in queries.KEYS:
        rows = queries.findings_by(data, question, most)
    elif question == "programs":
        rows = queries.worst_programs(data, most)
    elif question == "new":
        rows = queries.appeared(data, most)
    elif question == "failures":
        rows = queries.failures(data, most)
    elif question == "regressions":
        rows = [asdict(one) for one in regressions(data)[:most]]
    else:
        rows = [queries.facts(data)]
    return json_text(_plain({"question": question, "rows": rows}), indent=None)


def _plain(value: Any) -> Any:
    """Return what JSON takes: times as ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


# --- The child --------------------------------------------------------------------


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def limit_memory(most: int) -> None:
    """Have this process fail with MemoryError beyond some bytes of address space, and
    not the server's machine or container."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = min(most, sys.maxsize if hard == resource.RLIM_INFINITY else hard)
    with suppress(OSError, ValueError):  # macOS has no such limit.
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def main(parent: int) -> None:
    """Be a child of `pool.Pool`."""

    def set_up(most: int) -> Callable[[TraceTask | FleetTask], Reply]:
        limit_memory(most)
        return lambda task: Reply(run_task(task), _peak_bytes())

    children.serve(parent, set_up)
