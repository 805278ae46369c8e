# SPDX-License-Identifier: BSD-3-Clause
"""csv_tables.py: the report's tables as CSV files that a spreadsheet may open.

A spreadsheet runs a cell that begins like a formula, whoever named it (CWE-1236). So
text that does has ' in front; numbers are written as they are, exactly.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchtraceap.safe_text import printable
from torchtraceap.table_columns import TABLES, Column
from torchtraceap.table_folder import table_paths

if TYPE_CHECKING:
    import os

    from torchtraceap.report import Report

_ROWS = 1 << 16  # Turned into Python's objects at once.
# The wide ones too: a Japanese spreadsheet takes them. What follows a semicolon is a
# cell of its own where a comma is the decimal point; blanks and quotes before a cell
# may be taken off.
_FORMULA = re.compile(r"((?:^|;)[\s\"]*)(?=[=+\-@\t\r＝＋－＠﹦﹢﹣﹫])")
_NUMBER = re.compile(r"[+-]?[0-9]+")  # As ids may be.


def write_csv(report: Report, folder: str | os.PathLike[str]) -> None:
    """Write a file for each table: UTF-8, one line of names, "" for what is missing.

    Raises what `table_paths` does.
    """
    for name, path in table_paths(report, folder, "csv"):
        with open(path, "w", encoding="utf-8", newline="") as file:
            columns = TABLES[name](report)
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([safe_cell(column.name) for column in columns])
            for cells in _chunks(columns):
                writer.writerows(zip(*cells, strict=True))


def safe_cell(text: str) -> str:
    """Return text as no spreadsheet runs it and no terminal obeys it."""
    if _NUMBER.fullmatch(text):
        return text
    return printable(_FORMULA.sub(r"\1'", text))


def _chunks(columns: list[Column]) -> Iterator[list[list[Any]]]:
    """Yield the cells of some rows, column by column."""
    words = [_words(column) for column in columns]
    for begin in range(0, len(columns[0].values), _ROWS):
        part = slice(begin, begin + _ROWS)
        yield [_cells(c, part, w) for c, w in zip(columns, words, strict=True)]


def _words(column: Column) -> Any:
    if column.words is None:
        return None
    import numpy as np

    words = np.empty(len(column.words) + 1, object)  # The last one is of -1.
    words[:-1] = [safe_cell(word) for word in column.words]
    return words


def _cells(column: Column, part: slice, words: Any) -> list[Any]:
    values = column.values[part]
    if isinstance(values, list):
        if column.kind == "text":
            return [None if value is None else safe_cell(value) for value in values]
        return values
    if words is not None:
        return words[values].tolist()  # type: ignore[no-any-return]
    if column.missing is None or not column.missing[part].any():
        return values.tolist()  # type: ignore[no-any-return]
    cells = values.astype(object)
    cells[column.missing[part]] = None
    return cells.tolist()  # type: ignore[no-any-return]
