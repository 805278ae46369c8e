# SPDX-License-Identifier: BSD-3-Clause
"""cells.py: tables of a report, a job or a fleet: columns and plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, marked, wrapped
from torchtraceap.base.units import bytes_text, share_text, three_digits, time_text

_SHOWN = 10  # Rows of a table in text.


class Cell(NamedTuple):
    """The text of a cell, for a number its sort key, and on a page where it leads."""

    text: str
    value: float | None = None
    link: str = ""


NO_CELL = Cell("-", -1.0)  # Below every number.


@dataclass(frozen=True)
class Column:
    """A figure of each row, set flush right, or a text."""

    title: str
    cell: Callable[[Any], Cell]
    #: Of a text: how many characters are shown in plain text, where it comes last so
    #: that a long one costs the others nothing. 0: a figure.
    width: int = 0
    if_any: bool = False  #: Left out where no row has a value.
    on_page: bool = False  #: Left out of plain text, which has less room.
    if_varied: bool = False  #: Left out there where all rows have the same.


@dataclass(frozen=True)
class Table:
    """Rows of a report or a job, the most important first."""

    name: str
    order: str  #: How the title describes the rows, after their number.
    rows: Sequence[Any]
    columns: Sequence[Column]
    note: str = ""  #: What plain text says beside the number of rows.
    legend: str = ""  #: What the titles of the columns mean.

    @property
    def id(self) -> str:
        """The first word of the name, for links; with its number if it ends in one."""
        first, _, rest = self.name.partition(" ")
        number = rest.rpartition(" ")[2]
        return first.strip(",").lower() + (number if number.isdigit() else "")

    @property
    def title(self) -> str:
        """The heading above the table on the page."""
        return self.name + self.order

    def first(self, most: int) -> tuple[list[Column], list[tuple[Cell, ...]]]:
        """Return the columns that are shown, and the cells of the first rows."""
        columns, cells = [], []
        for column in self.columns:
            made = [column.cell(row) for row in self.rows[:most]]
            if not column.if_any or any(cell is not NO_CELL for cell in made):
                columns.append(column)
                cells.append(made)
        return columns, list(zip(*cells, strict=True))

    def in_text(self, column: Column) -> bool:
        """Tell whether plain text shows a column."""
        if column.if_varied and len({column.cell(row).text for row in self.rows}) < 2:
            return False
        return not column.on_page


def table_lines(table: Table, most: int = _SHOWN) -> Iterator[str]:
    """Yield a table as plain text, at most ``most`` rows; nothing if it is empty."""
    columns, rows = table.first(most)
    if not rows:
        return
    order = [i for i, column in enumerate(columns) if table.in_text(column)]
    order.sort(key=lambda i: columns[i].width > 0)
    notes = [f"{len(rows)} of {len(table.rows):,}", table.note]
    told = table.note or len(rows) < len(table.rows)
    counts = f" ({'; '.join(filter(None, notes))})" if told else ""
    yield marked(f"{table.name}{counts}{table.order}:", "heading")
    lines = [[columns[i].title for i in order]] + [
        [printable(row[i].text, columns[i].width) for i in order] for row in rows
    ]
    figures = [place for place, i in enumerate(order) if not columns[i].width]
    yield from align(lines, right=figures, indent="  ")
    yield from wrapped(table.legend, "  ", first="  ")


def count_cell(number: int | None) -> Cell:
    return NO_CELL if number is None else Cell(f"{number:,}", number)


def time_cell(us: float) -> Cell:
    return Cell(time_text(us), us) if us else NO_CELL


def share_cell(part: float, whole: float) -> Cell:
    return Cell(share_text(part, whole), part / whole) if whole > 0 else NO_CELL


def size_cell(count: int | None) -> Cell:
    return NO_CELL if count is None else Cell(bytes_text(count), count)


def rate_cell(value: float | None) -> Cell:
    if value is None or value < 0.005:
        return NO_CELL
    return Cell(three_digits(value), value)
