# SPDX-License-Identifier: BSD-3-Clause
"""table_columns.py: which tables a report has, and the columns of each.

pandas, Arrow and Parquet are made from these definitions, so they have the same
columns in the same order, of the same kinds, even if a table has no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torchtraceap import _core
from torchtraceap._core import (
    Balance,
    CollectiveRate,
    Copy,
    EngineKind,
    EngineStep,
    Finding,
    Graph,
    GraphNode,
    GraphPart,
    Kernel,
    Label,
    Location,
    Memory,
    MemoryHolder,
    MemoryPoint,
    Operator,
    Overlap,
    RooflineRow,
    Step,
    Thread,
    Utilization,
    Window,
)
from torchtraceap.report_data import ReportData

Array = np.ndarray[Any, Any]


@dataclass
class Column:
    """One column, for every output form.

    Its kind is ``text``, ``float``, ``bool``, ``int``, or ``int?`` for whole numbers
    that may be missing. In a list a missing value is None; for an array, ``missing``
    is True there. With ``words`` the values are indices into them, -1 if missing.
    """

    name: str
    kind: str
    values: list[Any] | Array
    missing: Array | None = None
    words: list[str] | None = None


# By the kind of a record's field. Ids are text, so that "rank 0" can be one.
_KINDS = {
    "text": "text",
    "text?": "text",
    "identity": "text",
    "identity?": "text",
    "int": "int",
    "count": "int",
    "int?": "int?",
    "count?": "int?",
    "float": "float",
    "float?": "float",
    "bool": "bool",
}
_LOCATION = ("file", "line", "function")
# Whole numbers in which -1 means missing, by their names in Trace.columns.
_NUMBERS = (
    "device",
    "stream",
    "correlation",
    "external_id",
    "sequence",
    "python_id",
    "python_parent_id",
)


# --- Tables of records --------------------------------------------------------------


def _windows(report: ReportData) -> list[Column]:
    wasted = [window.wasted_us for window in report.windows]
    return [*columns_of(Window, report.windows), Column("wasted_us", "float", wasted)]


def _labels(report: ReportData) -> list[Column]:
    rows = [
        (window.index, label) for window in report.windows for label in window.labels
    ]
    window = Column("window", "int", [index for index, _ in rows])
    return [window, *columns_of(Label, [label for _, label in rows])]


def _steps(report: ReportData) -> list[Column]:
    counts = report.kernel_counts.steps
    kernels = list(counts.each) if counts else [None] * len(report.steps)
    steps = [c for c in columns_of(Step, report.steps) if c.name != "busy_us"]
    own = {column.name for column in steps}  # The pid also without a balance.
    balances = _balances(report, [step.balance for step in report.steps])
    return [
        *steps,
        Column("kernels", "int?", kernels),
        *(column for column in balances if column.name not in own),
    ]


def _balances(report: ReportData, rows: Sequence[Balance | None]) -> list[Column]:
    names = [pattern.name for pattern in _core.patterns()]
    names += [outcome.rule for outcome in report.rules]

    def times(title: str, kind: str, name: str) -> Column:
        values = [getattr(row, kind)[name] if row is not None else None for row in rows]
        return Column(title, "float", values)

    own = columns_of(Balance, rows, absent=True)
    (rest,) = (c for c in own if c.name == "unattributed_us")
    rest.name = "idle_unattributed_us"  # So that all idle_* add up.
    return [
        *own,
        *(times(f"idle_{name}_us", "idle_us", name) for name in names),
        *(times(f"excess_{name}_us", "excess_us", name) for name in names),
    ]


def _memory_parts(kind: type[Any], name: str) -> Callable[[ReportData], list[Column]]:
    """Return a table of a list that each row of memory has; ``memory`` is its index."""

    def table(report: ReportData) -> list[Column]:
        parts = [
            (i, part) for i, m in enumerate(report.memory) for part in getattr(m, name)
        ]
        rows = [part for _, part in parts]
        columns = [
            Column("memory", "int", [i for i, _ in parts]),
            *columns_of(kind, rows),
        ]
        if kind is MemoryHolder:
            where = columns_of(Location, [row.location for row in rows], absent=True)
            columns += [column for column in where if column.name in _LOCATION]
        return columns

    return table


def _with_location(kind: type[Any], name: str) -> Callable[[ReportData], list[Column]]:
    def table(report: ReportData) -> list[Column]:
        rows = getattr(report, name)
        where = columns_of(Location, [row.location for row in rows], absent=True)
        return columns_of(kind, rows) + [c for c in where if c.name in _LOCATION]

    return table


def _graph_parts(report: ReportData) -> list[Column]:
    parts = [(graph.number, part) for graph in report.graphs for part in graph.parts]
    number = Column("graph", "int", [of for of, _ in parts])
    return [number, *columns_of(GraphPart, [part for _, part in parts])]


def _all_of(kind: type[Any], name: str) -> Callable[[ReportData], list[Column]]:
    return lambda report: columns_of(kind, getattr(report, name))


TABLES: dict[str, Callable[[ReportData], list[Column]]] = {
    "windows": _windows,
    "labels": _labels,
    "findings": _with_location(Finding, "findings"),
    "balance": lambda report: _balances(report, report.balance),
    "steps": _steps,
    "kernels": _all_of(Kernel, "kernels"),
    "copies": _all_of(Copy, "copies"),
    "operators": _all_of(Operator, "operators"),
    "roofline": _all_of(RooflineRow, "roofline"),
    "utilization": _all_of(Utilization, "utilization"),
    "engine_steps": _all_of(EngineStep, "engine_steps"),
    "engine_kinds": _all_of(EngineKind, "engine_kinds"),
    "collectives": _all_of(CollectiveRate, "collectives"),
    "graphs": _with_location(Graph, "graphs"),
    "graph_parts": _graph_parts,
    "graph_nodes": _with_location(GraphNode, "graph_nodes"),
    "memory": _all_of(Memory, "memory"),
    "memory_alive": _memory_parts(MemoryHolder, "alive"),
    "memory_line": _memory_parts(MemoryPoint, "line"),
    "overlap": _all_of(Overlap, "overlap"),
    "threads": _all_of(Thread, "threads"),
    "events": lambda report: _events(report.loaded),
}


def columns_of(
    record: type[Any], rows: Sequence[Any], absent: bool = False
) -> list[Column]:
    """Return the fields of records that a column can hold; ``absent``: some rows may be
    None."""
    columns = []
    for name, kind, _ in _core.fields(record):
        column_kind = _KINDS.get(kind, "text" if "|" in kind else "")
        if not column_kind:
            continue  # A list, or another record.
        if absent and column_kind == "int":
            column_kind = "int?"
        values = [getattr(row, name, None) for row in rows]
        if kind.startswith("identity"):
            values = [None if value is None else str(value) for value in values]
        columns.append(Column(name, column_kind, values))
    return columns


# --- The table of events ------------------------------------------------------------


def _events(trace: _core.Trace) -> list[Column]:
    """Return a row for each event, in the order of ``Trace.columns``.

    Whole numbers are views of the trace's own memory. Times in microseconds, masks of
    missing values, and numbers for processes and threads are allocated.
    """
    columns = trace.columns
    start, duration = columns["ts"], columns["dur"]
    no_start, no_duration = start == _core.NO_TIME, duration == _core.NO_TIME
    phase = columns["phase"].view("u1")
    return [
        # Ids of names stay far below 2^31, and pandas takes no unsigned ones.
        Column("name", "text", columns["name"].view("i4"), words=trace.strings),
        Column(
            "category",
            "text",
            columns["category"].view("i1"),
            words=trace.category_names,
        ),
        _numbered("phase", phase, lambda letter: chr(letter)),
        Column("start_us", "float", _microseconds(start, no_start), no_start),
        Column(
            "duration_us", "float", _microseconds(duration, no_duration), no_duration
        ),
        Column("start_ns", "int?", start, no_start),
        Column("duration_ns", "int?", duration, no_duration),
        *(
            _numbered(
                name,
                columns[name],
                lambda id: str(trace.identity(id)),
                columns[name] == _core.NO_ID,
            )
            for name in ("pid", "tid")
        ),
        *(
            Column(name, "int?", columns[name], columns[name] == -1)
            for name in _NUMBERS
        ),
    ]


def _microseconds(ns: Array, missing: Array) -> Array:
    """Return the nearest floats, as `us_from_ns` does, with NaN for what is missing."""
    us: Array = ns / 1000
    # Floats are exact for microseconds of any year, not for nanoseconds that large.
    large = np.abs(ns) >= 1 << 53
    if large.any():
        whole, rest = np.divmod(ns[large], 1000)
        us[large] = whole + rest / 1000
    us[missing] = float("nan")
    return us


def _numbered(
    name: str, values: Array, text: Any, missing: Array | None = None
) -> Column:
    """Return an array with few distinct numbers as text, one text for each number."""
    different = np.unique(values if missing is None else values[~missing])
    codes = np.searchsorted(different, values).astype("i4")
    if missing is not None:
        codes[missing] = -1
    words = [text(int(value)) for value in different]
    return Column(name, "text", codes, missing, words)
