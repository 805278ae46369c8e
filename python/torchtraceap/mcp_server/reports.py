# SPDX-License-Identifier: BSD-3-Clause
"""reports.py: the reports of a server, each of a file below its roots."""

from __future__ import annotations

import glob
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

from torchtraceap.analysis import analyze
from torchtraceap.analysis_plan import of_torch, plan_analysis
from torchtraceap.base.program_files import read_below
from torchtraceap.base.roots import FoundFile, Roots, RootsError
from torchtraceap.base.safe_text import printable
from torchtraceap.data.detector_choice import AUTO, OFF
from torchtraceap.data.load import plan_load
from torchtraceap.data.source import RankPaths, files_below, natural
from torchtraceap.gate.side import Side, read_form, side_of
from torchtraceap.mcp_server.listing import rows_of
from torchtraceap.ranks.job import job_of_ranks
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.rank_files import find_ranks
from torchtraceap.report import Report
from torchtraceap.views.json_form import report_form

_KEPT = 4  # Reports, each with its trace in memory.
# Bytes of a report's JSON, to compare: many times the largest one of a real trace, and
# read in a second or two.
_MOST_REPORT = 64_000_000
_MOST_LOOKED_AT = 20_000  # Folders, and files named like traces, of one answer.
_MESSAGE_WIDTH = 1900


@dataclass(frozen=True)
class Limits:
    """The most that a server takes and gives."""

    text_bytes: int = 4_000_000_000  #: Of a trace, uncompressed; of all that are kept.
    answer_bytes: int = 100_000


class Abandoned(Exception):
    """The request was canceled."""


class Analysis:
    """A report, and its JSON form once it is asked for."""

    def __init__(self, report: Report, detector: bool = False) -> None:
        self.report = report
        self._detector = detector

    @cached_property
    def form(self) -> dict[str, Any]:
        """The report in its JSON form."""
        return report_form(self.report, with_detector=self._detector)

    @cached_property
    def detected(self) -> Analysis:
        """The same with what the learned detector says."""
        of = self.report
        return Analysis(Report(of.core, of.loaded, of.settings, AUTO), True)


class Reports:
    """Reports of files below the roots. Nothing is written, nothing else read.

    One answer is made at a time; a few reports are kept for the next ones.
    """

    def __init__(self, roots: Iterable[str], limits: Limits | None = None) -> None:
        """Raises RootsError for a root that is not a folder."""
        self.roots = Roots(roots)
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._kept: OrderedDict[object, Analysis] = OrderedDict()
        self._found: list[FoundFile] = []  # For the answer that is being made.
        self._left = _MOST_LOOKED_AT
        self._abandoned: Callable[[], bool] = lambda: False
        read_below(self.roots)

    def answer(
        self, make: Callable[[], str], abandoned: Callable[[], bool]
    ) -> tuple[str, bool]:
        """Return an answer that is made of the reports, or why there is none, and
        whether that is so. Once ``abandoned`` is true, a trace is read no further for
        it."""
        with self._lock:
            self._found, self._abandoned = [], abandoned
            self._left = _MOST_LOOKED_AT
            try:
                self.go_on()
                return make(), False
            except Exception as error:  # No traceback is to reach the agent.
                return self._message(error), True

    def analysis(
        self,
        trace: str,
        recover: bool = False,
        step: int | None = None,
        last_step: int | None = None,
        detector: bool = False,
    ) -> Analysis:
        """Return the analysis of a trace, made again if the file changed."""
        loading = self._loading(recover, step, last_step)
        file = self._find(trace)
        key = (file.path, file.state, loading["steps"], recover)
        made = self._kept.pop(key, None)
        if made is None:
            report = analyze(file.path, detector=OFF, quiet=True, **loading)
            self.roots.refuse_changed(file)
            made = Analysis(of_torch(report))
        self._kept[key] = made  # The last one that was used, now.
        while len(self._kept) > _KEPT or (len(self._kept) > 1 and self._is_too_much()):
            self._kept.popitem(last=False)
        made = made.detected if detector else made
        if made.report.trace.path != file.given:  # A link may lead to it, too.
            made.report.name_trace(file.given)
            vars(made).pop("form", None)
        return made

    def side(self, name: str, recover: bool) -> Side:
        """Return a trace, or the JSON report of one, as a side of a comparison."""
        file = self._find(name)
        form = read_form(file.path, _MOST_REPORT, self.go_on)
        if form is None:
            return side_of(self.analysis(name, recover).report)
        self.roots.refuse_changed(file)
        return side_of(form, file.given)

    def job(self, name: str, *part: Any) -> JobReport:
        """Return the report of the ranks below a folder, of a glob without ``**``, or
        in a merged trace; ``part``: as of `analysis`. It is not kept."""
        loading = plan_load(**self._loading(*part))
        source = self._ranks(name)
        files = [self._find(self.roots.name(path)) for path in source.paths]
        plan, ranks = plan_analysis(detector=OFF), find_ranks(source)
        job = job_of_ranks(ranks, loading, plan, counted=self.go_on, skips=True)
        for file in files:
            self.roots.refuse_changed(file)
        if job.fault is not None:  # Of one file.
            raise ValueError(f"{job.problem} The tool analyze takes a single trace.")
        return job

    def traces(self, folder: str | None) -> tuple[list[dict[str, Any]], bool]:
        """Return a row for each trace and job below a folder, or all roots, newest
        first, and whether these are all. Links are left out."""
        rows = {}
        for name in self.roots.folders if folder is None else (folder,):
            top = self._look_up(name)
            if not top.is_folder:
                raise ValueError(f"{top.given}: is a file. Give a folder, or none.")
            paths = files_below(
                top.path, lambda path: not os.path.islink(path) and self._may_read(path)
            ).paths
            for row in rows_of(top.path, paths, self.go_on):
                row["path"] = self.roots.name(row["path"])
                rows[row["path"]] = row
        found = sorted(rows.values(), key=lambda row: natural(row["path"]))
        found.sort(key=lambda row: row["modified"], reverse=True)
        return found, self._left >= 0

    def _ranks(self, name: str) -> RankPaths:
        """Return the files of a job by the name of its folder, a glob, or one file."""
        top = name
        try:
            found = self._look_up(name)
        except RootsError:
            if not glob.has_magic(name):
                raise
            if "**" in name:
                raise ValueError(
                    f"{printable(name)}: ** is not a pattern here. Give the folder of "
                    "the traces, or a pattern like runs/rank*.json."
                ) from None
            while glob.has_magic(top):
                top = os.path.dirname(top)
            found = self._look_up(top or os.curdir)
        if not found.is_folder:
            beside = os.path.dirname(found.path)
            return RankPaths(found.path, (found.path,), beside, is_list=True)
        files = files_below(found.path, self._may_read)
        if self._left < 0:
            raise ValueError(
                f"{found.given}: holds more than {_MOST_LOOKED_AT} files and folders. "
                "Give the folder of one job."
            )
        if top == name:
            return files
        # Matched here, for a glob follows links out of the roots.
        rest = os.path.relpath(name, top or os.curdir)
        pattern = os.path.join(glob.escape(found.path), rest)
        paths = tuple(path for path in files.paths if PurePath(path).match(pattern))
        return replace(files, text=pattern, paths=paths, skipped=())

    def _may_read(self, path: str) -> bool:
        """Tell whether what was met in a folder lies below the roots, and count it."""
        self.go_on()
        self._left -= 1
        return self._left >= 0 and self.roots.hold(os.path.realpath(path))

    def _loading(
        self,
        recover: bool = False,
        step: int | None = None,
        last_step: int | None = None,
    ) -> dict[str, Any]:
        """Return the options of `torchtraceap.load`."""
        if last_step is not None and step is None:
            raise ValueError("last_step is of use with step only")
        last = step if last_step is None else last_step
        return {
            "steps": None if step is None else (step, last),
            "recover": recover,
            "max_text_bytes": self.limits.text_bytes,
            "progress": self.go_on,
        }

    def _look_up(self, name: str) -> FoundFile:
        self._found.append(self.roots.find(name))
        return self._found[-1]

    def _find(self, name: str) -> FoundFile:
        file = self._look_up(name)
        if file.is_folder:
            raise ValueError(
                f"{file.given}: is a folder. The tool job analyzes a folder of ranks, "
                "the tool traces lists what a folder holds."
            )
        if file.size > self.limits.text_bytes:
            raise ValueError(
                f"{file.given}: has {file.size} bytes, and this server takes "
                f"{self.limits.text_bytes}. Start it with --max-text-bytes."
            )
        return file

    def _is_too_much(self) -> bool:
        """Tell whether what is kept is of more text than one trace may have."""
        kept = sum(one.report.loaded.text_bytes for one in self._kept.values())
        return kept > self.limits.text_bytes

    def go_on(self, *_: float) -> None:
        """Raise Abandoned once the request was canceled."""
        if self._abandoned():
            raise Abandoned

    def _message(self, error: Exception) -> str:
        first = self._found[0].given if self._found else "the trace"
        if isinstance(error, MemoryError):
            text = f"{first}: does not fit into memory. Ask for one step of it."
        elif isinstance(error, ValueError | OSError):
            text = str(error)
        else:
            text = (
                f"{first}: the analysis failed, through no fault of the trace: "
                f"{type(error).__name__}: {error}. Please report it."
            )
        return printable(self.named(text), _MESSAGE_WIDTH)

    def named(self, text: str) -> str:
        """Return a text with files as the request names them, or as `Roots.name` does:
        the agent does not learn where the first root lies, also not by a path that was
        cut."""
        places = [(file.path, file.given) for file in self._found]
        for path, given in (*places, (f"{self.roots.folders[0]}/", "")):
            for form in _forms(path):
                # At its beginning: the path of a root may stand inside another.
                parts = re.split(rf"(?<![\w./-]){re.escape(form)}", text)
                text = given.join(parts)
        return text


def _forms(path: str) -> Iterator[str]:
    """Yield how messages may write a path: raw, as ours, as Python's, as the core's."""
    yield from (path, printable(path), repr(path)[1:-1])
    text = os.fsencode(path).decode("ascii", "backslashreplace")
    yield printable(text.replace("\n", r"\n").replace("\t", r"\t"))
