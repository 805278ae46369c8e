# SPDX-License-Identifier: BSD-3-Clause
"""tasks.py: what one task of a fleet does: the analysis of a trace or a job.

It runs in a process of its own, here or on another machine, and returns some kilobytes:
the rows of the data set. Whatever is wrong with a file is a row, too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.program_files import read_below
from torchtraceap.base.roots import Roots
from torchtraceap.data.load import LoadPlan
from torchtraceap.data.source import LIST, RankPaths
from torchtraceap.fleets.items import FleetFile, Item, below, id_of
from torchtraceap.fleets.rows import (
    OF_REPORTS,
    failed_row,
    job_row,
    named,
    report_tables,
    table_of,
    trace_row,
)
from torchtraceap.fleets.urls import file_system, first_line, is_url
from torchtraceap.ranks.job import file_of
from torchtraceap.ranks.joining import AnalyzedRank, join_ranks
from torchtraceap.ranks.merged import analyzed_ranks
from torchtraceap.ranks.rank_files import find_ranks
from torchtraceap.ranks.rank_record import record_of
from torchtraceap.ranks.recordings import RankFile, RankFiles, Recording
from torchtraceap.report import Report

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FleetPlan:
    """How each trace is loaded and analyzed."""

    loading: LoadPlan
    analysis: AnalysisPlan


@dataclass(frozen=True)
class FleetFailure:
    """A trace that could not be analyzed."""

    url: str
    kind: str  #: A stable word: of `TraceError`, or "crashed", "memory", "unreadable".
    why: str


@dataclass(frozen=True)
class Done:
    """The rows of an item."""

    item: Item
    day: str  #: Of its first trace, "2026-10-01" (UTC).
    traces: tuple[str, ...]  #: Their ids.
    tables: Mapping[str, pa.Table]
    failures: tuple[FleetFailure, ...]


def run_task(item: Item, plan: FleetPlan) -> Done:
    """Analyze an item. Raises nothing that a file may cause."""
    # Sources of programs are not where the traces are: lines would depend on that.
    read_below(Roots([]))
    work = _Work(item)
    try:
        with _fetched(item) as paths:
            work.run(paths, plan)
    except Exception as error:  # Of a store's library, from a network.
        work = _Work(item)
        for file in item.files:
            work.fail(file, error)
    return work.done()


def failed_task(item: Item, kind: str, why: str) -> Done:
    """Return the rows of an item whose task ended without an answer."""
    work = _Work(item)
    for file in item.files:
        work.failures.append(FleetFailure(file.url, kind, f"{file.url}: {why}"))
    return work.done()


class _Work:
    """The rows of an item, as they come."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._traces: list[dict[str, Any]] = []
        self._jobs: list[dict[str, Any]] = []
        self._tables: dict[str, list[pa.Table]] = {name: [] for name in OF_REPORTS}
        self.failures: list[FleetFailure] = []

    def run(self, paths: Mapping[str, FleetFile], plan: FleetPlan) -> None:
        """Analyze the files at these paths, and join them if they are of one job."""
        top = os.path.commonpath([os.path.dirname(path) for path in paths])
        try:
            ranks = find_ranks(RankPaths(LIST, tuple(paths), top, is_list=True))
        except TraceError:  # The analysis of the file says best what is wrong.
            ranks = RankFiles(LIST, Recording(LIST, (), None), True)
        files = ranks.recording.files or [RankFile(path, None) for path in paths]
        analyzed: list[AnalyzedRank] = []
        for file in files:
            stored = paths[file.path]
            try:
                analyzed += self._ranks_of(file, stored, plan)
            except Exception as error:
                self.fail(stored, error, file.path)
        for row, rank in zip(self._traces, analyzed, strict=True):
            row["rank"] = rank.rank
        if len(analyzed) > 1:
            job = join_ranks(ranks, analyzed, [])
            if job.fault is None and job.facts.joined_collectives:
                self._jobs.append(job_row(job, self._item, self._traces[0]))
                for row in self._traces:
                    row["job"] = self._item.id

    def _ranks_of(
        self, file: RankFile, stored: FleetFile, plan: FleetPlan
    ) -> list[AnalyzedRank]:
        made = []
        for report in analyzed_ranks(file.path, plan.loading, plan.analysis):
            record = record_of(report)
            row = trace_row(report, record, self._item, stored)
            made.append((row, record, report_tables(report)))
        for at, (row, _, tables) in enumerate(made):
            row["trace"] = id_of(f"{stored.url}#{at}" if made[1:] else stored.url)
            for name, table in tables.items():
                own = named(table, row["trace"], row["program"])
                self._tables[name].append(own)
            self._traces.append(row)
        return [
            AnalyzedRank(file_of(file, record, len(made)), record, _gone)
            for _, record, _ in made
        ]

    def fail(self, file: FleetFile, error: Exception, path: str = "") -> None:
        """Keep the error that a file caused, which may name it by another path."""
        kind, why = _reason(file.url, error)
        if isinstance(error, TraceError) and not path and file.url not in why:
            why = f"{file.url}: its job cannot be analyzed without {why}"
        if path and path != file.url:
            why = why.replace(path, file.url)
        self.failures.append(FleetFailure(file.url, kind, why))

    def done(self) -> Done:
        """Return what there is."""
        import pyarrow as pa

        files = {file.url: file for file in self._item.files}
        failed = [
            failed_row(self._item, files[one.url], one.kind, one.why)
            for one in self.failures
        ]
        for row in failed if self._jobs else ():  # Of the job that the others are of.
            row["job"] = self._item.id
        rows = [*self._traces, *failed]
        tables = {name: pa.concat_tables(t) for name, t in self._tables.items() if t}
        tables["traces"] = table_of("traces", rows)
        tables["jobs"] = table_of("jobs", self._jobs)
        return Done(
            self._item,
            min(row["time"] for row in self._traces or failed).date().isoformat(),
            tuple(row["trace"] for row in rows),
            {name: table for name, table in tables.items() if table.num_rows},
            tuple(self.failures),
        )


def _gone() -> Report:
    raise RuntimeError("a fleet keeps no reports")


def _reason(url: str, error: Exception) -> tuple[str, str]:
    if isinstance(error, TraceError):
        return error.kind, str(error)
    if isinstance(error, MemoryError):
        return "memory", f"{url}: does not fit into memory. Record fewer steps."
    text = first_line(error)
    if isinstance(error, OSError):
        return "unreadable", f"{url}: cannot be read: {error.strerror or text}"
    kind = type(error).__name__
    return "internal", f"{url}: the analysis failed ({kind}: {text}). Please report it."


@contextmanager
def _fetched(item: Item) -> Iterator[Mapping[str, FleetFile]]:
    """Give the paths of the files; objects behind URLs are copied for the time."""
    if not is_url(item.url):
        yield {file.url: file for file in item.files}
        return
    with tempfile.TemporaryDirectory(prefix="torchtraceap-") as folder:
        paths: dict[str, FleetFile] = {}
        for file in item.files:
            # With its folders below the item's, which may tell its rank; a key may have
            # any text, and a signature be longer than a name.
            parts = below(file.url, item.top).partition("?")[0].split("/")
            kept = [part[-200:] for part in parts if part not in ("", ".", "..")]
            path = os.path.join(folder, str(len(paths)), *kept)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            try:
                source = file.secret_url or file.url
                file_system(source).get_file(source, path)
            except Exception as error:  # Of any store's library, from a network.
                cause = f"it cannot be copied ({first_line(error)})"
                hint = "Check the store and the network, and run the fleet again"
                raise trace_error(file.url, "unreachable", cause, hint) from error
            paths[path] = file
        yield paths
