# SPDX-License-Identifier: BSD-3-Clause
"""table_columns.py: which tables a report has, and the columns of each.

pandas, Arrow and Parquet are made from what is said here, so they have the same
columns in the same order, of the same kinds, also where a table has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from torchtraceap import _core
from torchtraceap.base.location import Location
from torchtraceap.data.events import Label, Window
from torchtraceap.data.facts import Balance, Step
from torchtraceap.data.findings import Finding
from torchtraceap.data.from_core import identity
from torchtraceap.data.work import Copy, Kernel, Operator, Overlap, Thread
from torchtraceap.report_data import ReportData

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Column:
    """One column, whatever form it is to take.

    Its kind is ``text``, ``float``, ``bool``, ``int``, or ``int?`` for whole numbers
    that may be missing. A missing value is None in a list. Of an array, ``missing``
    is True there, and with ``words`` the values are indices of these, -1 if missing.
    """

    name: str
    kind: str
    values: list[Any] | Array
    missing: Array | None = None
    words: list[str] | None = None


# By the annotation of a record's field. Ids are text, so that "rank 0" can be one.
_KINDS = {
    "str": "text",
    "str | None": "text",
    "int | str": "text",
    "int | str | None": "text",
    "int": "int",
    "int | None": "int?",
    "float": "float",
    "float | None": "float",
    "bool": "bool",
}
_WINDOW = ("index", "start_us", "end_us", "step", "device", "pid", "events", "busy_us")
_WASTED = ("cpu_wasted_fraction", "gpu_wasted_fraction", "wasted_us")
_SAID = ("cpu_probability", "gpu_probability")
_LABEL = (
    "pattern",
    "side",
    "wasted_fraction",
    "origin",
    "wasted_us",
    "saved_fraction",
    "probability",
)
_FINDING = ("id", "pattern", "subtype", "side", "severity", "count", "wasted_us")
_GAIN = ("recoverable_us", "recoverable_low_us", "recoverable_fraction")
_FINDING_REST = ("operator", "message", "advice", "basis", "edit", "origin")
_LOCATION = ("file", "line", "function")
_BALANCE = ("device", "devices", "pid", "span_us", "busy_us")
_STEP = ("number", "start_us", "end_us")
# Whole numbers of which -1 says that there is none, by their names in Trace.columns.
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
    return _columns(Window, report.windows, (*_WINDOW, *_WASTED, *_SAID))


def _labels(report: ReportData) -> list[Column]:
    rows = [
        (window.index, label) for window in report.windows for label in window.labels
    ]
    window = Column("window", "int", [index for index, _ in rows])
    return [window, *_columns(Label, [label for _, label in rows], _LABEL)]


def _findings(report: ReportData) -> list[Column]:
    rows = report.findings
    return [
        *_columns(Finding, rows, (*_FINDING, "idle_us")),
        *_columns(Location, [row.location for row in rows], _LOCATION, absent=True),
        *_columns(Finding, rows, (*_GAIN, *_FINDING_REST)),
    ]


def _steps(report: ReportData) -> list[Column]:
    counts = report.kernel_counts.steps
    kernels = list(counts.each) if counts else [None] * len(report.steps)
    balances = _balances(report, [step.balance for step in report.steps])
    pids = _columns(Step, report.steps, ("pid",))  # Also of steps without a balance.
    return [
        *_columns(Step, report.steps, _STEP),
        Column("kernels", "int?", kernels),
        *(pids[0] if column.name == "pid" else column for column in balances),
    ]


def _balances(report: ReportData, rows: Sequence[Balance | None]) -> list[Column]:
    names = [pattern.name for pattern in _core.patterns()]
    names += [outcome.rule for outcome in report.rules]

    def times(title: str, get: Callable[[Balance], float]) -> Column:
        values = [get(row) if row is not None else None for row in rows]
        return Column(title, "float", values)

    return [
        *_columns(Balance, rows, _BALANCE, absent=True),
        *(times(f"idle_{n}_us", lambda row, n=n: row.idle_us[n]) for n in names),  # type: ignore[misc]
        times("idle_unattributed_us", lambda row: row.unattributed_us),
        *(times(f"excess_{n}_us", lambda row, n=n: row.excess_us[n]) for n in names),  # type: ignore[misc]
    ]


def _all_of(kind: type[Any], name: str) -> Callable[[ReportData], list[Column]]:
    names = [field.name for field in fields(kind)]
    return lambda report: _columns(kind, getattr(report, name), names)


TABLES: dict[str, Callable[[ReportData], list[Column]]] = {
    "windows": _windows,
    "labels": _labels,
    "findings": _findings,
    "balance": lambda report: _balances(report, report.balance),
    "steps": _steps,
    "kernels": _all_of(Kernel, "kernels"),
    "copies": _all_of(Copy, "copies"),
    "operators": _all_of(Operator, "operators"),
    "overlap": _all_of(Overlap, "overlap"),
    "threads": _all_of(Thread, "threads"),
    "events": lambda report: _events(report.loaded),
}


def _columns(
    record: type[Any], rows: Sequence[Any], names: Sequence[str], absent: bool = False
) -> list[Column]:
    """Return fields of records as columns; ``absent``: some rows may be None."""
    columns = []
    for name in names:
        annotation = _annotation(record, name)
        kind = _KINDS[annotation]
        if absent and kind == "int":
            kind = "int?"
        values = [getattr(row, name, None) for row in rows]
        if annotation.startswith("int | str"):
            values = [None if value is None else str(value) for value in values]
        columns.append(Column(name, kind, values))
    return columns


def _annotation(record: type[Any], name: str) -> str:
    for field in fields(record):
        if field.name == name:
            return str(field.type)
    return str(getattr(record, name).fget.__annotations__["return"])


# --- The table of events ------------------------------------------------------------


def _events(trace: _core.Trace) -> list[Column]:
    """Return a row for each event, in the order of ``Trace.columns``.

    Whole numbers are views of the trace's own memory. What is made: the times in
    microseconds, where values are missing, and numbers for processes and threads.
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
                lambda id: str(identity(trace, id)),
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
    # A float does not hold so many nanoseconds, but the microseconds of all years.
    large = np.abs(ns) >= 1 << 53
    if large.any():
        whole, rest = np.divmod(ns[large], 1000)
        us[large] = whole + rest / 1000
    us[missing] = float("nan")
    return us


def _numbered(
    name: str, values: Array, text: Any, missing: Array | None = None
) -> Column:
    """Return few different numbers as what each stands for."""
    different = np.unique(values if missing is None else values[~missing])
    codes = np.searchsorted(different, values).astype("i4")
    if missing is not None:
        codes[missing] = -1
    words = [text(int(value)) for value in different]
    return Column(name, "text", codes, missing, words)
