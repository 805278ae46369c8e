# SPDX-License-Identifier: BSD-3-Clause
"""fleet_report.py: what a fleet's data set says, as text, Markdown and a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torchtraceap._core import Location
from torchtraceap.base.location import place_text
from torchtraceap.base.text_table import joined, marked
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.fleets import queries
from torchtraceap.fleets.queries import Row
from torchtraceap.fleets.regressions import Regression, regressions
from torchtraceap.fleets.urls import is_url
from torchtraceap.views.cells import (
    NO_CELL,
    Cell,
    Column,
    Table,
    count_cell,
    share_cell,
    table_lines,
    time_cell,
)
from torchtraceap.views.html.document import document
from torchtraceap.views.markdown import code, plain
from torchtraceap.views.markdown import joined as fitting
from torchtraceap.views.markdown import table as markdown_table

_NAME = 48  # Characters of a text in plain text.
_SHOWN = 20  # Rows of a table in Markdown.
_ON_PAGE = 4000  # Rows of a table there, as far as it stays under these bytes.
_PAGE_BYTES = 4_900_000


@dataclass(frozen=True)
class FleetReport:
    """The answers to the questions over a data set."""

    folder: str
    facts: Row
    tables: tuple[Table, ...]  #: Those that have rows.

    @property
    def lost_text(self) -> str:
        """How much GPU time is lost, of how much."""
        lost_us, device_us = self.facts["lost_us"], self.facts["device_us"]
        share = share_text(lost_us, device_us)
        return f"{time_text(lost_us)} of {time_text(device_us)} GPU time lost ({share})"


def fleet_report(folder: str | os.PathLike[str]) -> FleetReport:
    """Ask a data set everything. Raises what `queries.connected` does."""
    where = os.fsdecode(folder)
    connection = queries.connected(where)
    facts = queries.facts(connection)
    tables = (
        Table(
            "Regressions",
            " against the last green trace of the same program",
            regressions(connection),
            _REGRESSIONS,
            legend="a trace is green if it is not worse than the last green one, nor "
            "than the median of the last 30, by more than noise (docs/ci.md)",
        ),
        Table(
            "Programs",
            ", by lost GPU time",
            queries.worst_programs(connection),
            _PROGRAMS,
        ),
        *(
            Table(
                f"{title}",
                ", by lost GPU time",
                queries.findings_by(connection, key),
                _by(key),
            )
            for key, title in _TITLES.items()
        ),
        Table(
            "New findings",
            " that the first trace of their program did not have",
            queries.appeared(connection),
            _APPEARED,
        ),
        Table("Failures", " by kind", queries.failures(connection), _FAILURES),
    )
    return FleetReport(where, facts, tuple(table for table in tables if table.rows))


def fleet_lines(report: FleetReport) -> list[str]:
    """Return a report as plain text, ten rows of each table."""
    first, *more = fact_texts(report)
    head: list[str] = [marked(f"{first}: {report.lost_text}", "title")]
    head.append(", ".join(more))
    return joined((head, *map(table_lines, report.tables)))


def fact_texts(report: FleetReport) -> list[str]:
    """Return what the data set is of."""
    facts = report.facts
    texts = [counted(facts["traces"], "trace")]
    if facts["jobs"]:
        texts.append(counted(facts["jobs"], "job"))
    texts.append(counted(facts["programs"], "program"))
    if facts["failed"]:
        texts.append(f"{facts['failed']:,} failed")
    if facts["first"]:
        days = dict.fromkeys((facts["first"], facts["last"]))
        texts.append(" to ".join(days))
    return texts


def fleet_markdown(report: FleetReport) -> str:
    """Return a report as Markdown under 64 KiB, for a pull request."""
    parts = [f"### {plain(report.lost_text)}\n\n{plain(', '.join(fact_texts(report)))}"]
    for table in report.tables:
        columns, rows = table.first(_SHOWN)
        order = [i for i, column in enumerate(columns) if table.in_text(column)]
        order.sort(key=lambda i: columns[i].width == 0)
        texts = sum(columns[i].width > 0 for i in order)
        cells = [[_in_markdown(columns[i], row[i]) for i in order] for row in rows]
        made = markdown_table([columns[i].title for i in order], cells, texts)
        if more := len(table.rows) - len(rows):
            made += f"\n\nand {more:,} more"
        parts.append(f"**{plain(table.title)}**\n\n{made}")
    return fitting(parts, "tables")


def _in_markdown(column: Column, cell: Cell) -> str:
    return code(cell.text) if column.width and cell is not NO_CELL else plain(cell.text)


def fleet_page(report: FleetReport) -> str:
    """Return a report as one HTML page of under 5 MB."""
    values = {
        "name": report.folder.replace("\\", "/").rstrip("/").rpartition("/")[2],
        "report": report,
        "facts": fact_texts(report),
    }
    most = _ON_PAGE
    while True:
        values["most"] = most
        page = document("fleet.html", values, ("viewer.js", "fleet_page.js"), "")
        size = len(page.encode())
        if size <= _PAGE_BYTES or most <= 10:
            return page
        most = max(10, min(most - 1, int(0.9 * most * _PAGE_BYTES / size)))


# --- Columns ----------------------------------------------------------------------

_TITLES = {
    "pattern": "Patterns",
    "model": "Models",
    "commit": "Commits",
    "host": "Hosts",
    "gpu": "GPUs",
}


def _text(row: Row, name: str) -> Cell:
    return Cell(row[name]) if row[name] else NO_CELL


def _day(row: Row, name: str) -> Cell:
    if row[name] is None:
        return NO_CELL
    return Cell(f"{row[name]:%Y-%m-%d}", row[name].timestamp())


def _linked(url: str) -> Cell:
    """Show the name of a file, which leads to it."""
    link = url if url.startswith(("http://", "https://")) else ""
    if not is_url(url) and os.path.isabs(url):
        link = Path(url).as_uri()
    return Cell(url.rpartition("/")[2] if link else url, None, link)


def _place(row: Row) -> Cell:
    where = None
    if row["file"]:
        where = Location(row["file"], row["line"], row["function"] or "")
    return (
        Cell(place_text(where, row["operator"]))
        if where or row["operator"]
        else NO_CELL
    )


def _run(of: str, one: Regression) -> Cell:
    run: Row = getattr(one, of)
    commit = f" ({run['commit']})" if run["commit"] else ""
    return Cell(f"{run['time']:%Y-%m-%d}{commit}")


def _figure(of: str, one: Regression) -> Cell:
    value = getattr(one.change, of)
    if value is None:
        return NO_CELL
    text = time_text(value) if one.measure == "step" else share_text(value, 1)
    return Cell(text, value)


def _change(one: Regression) -> Cell:
    share = one.change.relative
    return NO_CELL if share is None else Cell(f"{share:+.1%}", share)


def _column(title: str, cell: Callable[[Any], Cell], **more: Any) -> Column:
    return Column(title, cell, _NAME, **more)


_LOST = (
    Column("lost", lambda r: time_cell(r["lost_us"])),
    Column("traces", lambda r: count_cell(r["traces"])),
)
_WORST = _column("worst trace", lambda r: _linked(r["url"]), on_page=True)
_REGRESSIONS = (
    _column("program", lambda r: Cell(r.program)),
    Column("before", partial(_figure, "before")),
    Column("now", partial(_figure, "after")),
    Column("change", _change),
    Column("noise", partial(_figure, "noise"), on_page=True),
    Column("of", lambda r: Cell("the median step" if r.measure == "step" else "lost")),
    _column("last green", partial(_run, "green")),
    _column("red since", partial(_run, "since")),
    _column("grown most", lambda r: Cell(r.pattern) if r.pattern else NO_CELL),
    _column("GPU", lambda r: Cell(r.gpu), on_page=True),
    _column("newest trace", lambda r: _linked(r.now["url"]), on_page=True),
)
_PROGRAMS = (
    _column("program", lambda r: Cell(r["program"])),
    *_LOST,
    Column("of GPU time", lambda r: share_cell(r["lost_us"], r["device_us"])),
    Column("busy", lambda r: share_cell(r["busy_us"], r["device_us"])),
    Column("failed", lambda r: count_cell(r["failed"] or None), if_any=True),
    _column("most by", lambda r: _text(r, "pattern")),
    _column("GPU", lambda r: _text(r, "gpu"), if_varied=True),
    Column("last", lambda r: _day(r, "last"), on_page=True),
    _WORST,
)
_APPEARED = (
    _column("program", lambda r: Cell(r["program"])),
    _column("pattern", lambda r: Cell(r["pattern"])),
    _column("where", _place),
    Column("first", lambda r: _day(r, "first")),
    _column("commit", lambda r: _text(r, "commit"), if_any=True),
    *_LOST,
    _column("first trace", lambda r: _linked(r["url"]), on_page=True),
)
_FAILURES = (
    _column("kind", lambda r: _text(r, "kind")),
    Column("traces", lambda r: count_cell(r["traces"])),
    _column("for example", lambda r: _text(r, "error")),
)


def _by(key: str) -> tuple[Column, ...]:
    return (
        _column("GPU" if key == "gpu" else key, lambda r: Cell(r["name"])),
        *_LOST,
        Column("findings", lambda r: count_cell(r["findings"])),
        Column("programs", lambda r: count_cell(r["programs"])),
        _WORST,
    )
