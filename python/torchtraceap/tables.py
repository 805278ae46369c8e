# SPDX-License-Identifier: BSD-3-Clause
"""tables.py: the report as pandas DataFrames."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from torchtraceap import _core
from torchtraceap.threads import Thread
from torchtraceap.work import Copy, Kernel, Operator, Overlap

if TYPE_CHECKING:
    import pandas as pd

    from torchtraceap.facts import Balance
    from torchtraceap.report import Report


class Tables(NamedTuple):
    """A report's rows. Times are microseconds, as in the report."""

    windows: pd.DataFrame  # One row a window.
    labels: pd.DataFrame  # One row a label; `window` is the index of its window.
    findings: pd.DataFrame  # One row a finding, most wasted time first.
    # One row a device or process; a column `idle_<pattern>_us` each.
    balance: pd.DataFrame
    steps: pd.DataFrame  # One row a step, with the columns of `balance`.
    kernels: pd.DataFrame  # One row a kernel, as `Report.kernels`.
    copies: pd.DataFrame  # One row a kind of copy, as `Report.copies`.
    operators: pd.DataFrame  # One row an operator, as `Report.operators`.
    overlap: pd.DataFrame  # One row a device, as `Report.overlap`.
    threads: pd.DataFrame  # One row a thread, as `Report.threads`.


_WINDOW = ("index", "start_us", "end_us", "step", "device", "pid", "events", "busy_us")
_SCORES = ("cpu_score", "gpu_score", "wasted_us")
_LABEL = ("pattern", "side", "score", "origin", "wasted_us")
_FINDING = ("id", "pattern", "subtype", "side", "severity", "count", "wasted_us")
_FINDING_REST = ("operator", "message", "advice", "basis")
_LOCATION = ("file", "line", "function")
_BALANCE = ("device", "devices", "pid", "span_us", "busy_us")
_STEP = ("number", "start_us", "end_us", "kernels")


def make_tables(report: Report) -> Tables:
    """Return the tables. Columns are there even if no row is."""
    pd = _pandas()
    windows = [_row(w, (*_WINDOW, *_SCORES)) for w in report.windows]
    labels = [
        {"window": w.index, **_row(label, _LABEL)}
        for w in report.windows
        for label in w.labels
    ]
    findings = [
        _row(f, (*_FINDING, "idle_us"))
        | {name: getattr(f.location, name, None) for name in _LOCATION}
        | _row(f, _FINDING_REST)
        for f in report.findings
    ]
    names = [pattern.name for pattern in _core.patterns()]
    names += [outcome.rule for outcome in report.rules]
    counts = report.kernel_counts.steps
    steps = [
        _row(step, ("number", "start_us", "end_us"))
        | {"pid": step.pid}
        | {"kernels": counts.each[i] if counts else None}
        | (_balance(step.balance, names) if step.balance else {})
        for i, step in enumerate(report.steps)
    ]
    parts = (
        *_BALANCE,
        *(f"idle_{name}_us" for name in (*names, "unattributed")),
        *(f"excess_{name}_us" for name in names),
    )
    tables = Tables(
        windows=pd.DataFrame(windows, columns=[*_WINDOW, *_SCORES]),
        labels=pd.DataFrame(labels, columns=["window", *_LABEL]),
        findings=pd.DataFrame(
            findings, columns=[*_FINDING, "idle_us", *_LOCATION, *_FINDING_REST]
        ),
        balance=pd.DataFrame(
            [_balance(b, names) for b in report.balance], columns=parts
        ),
        steps=pd.DataFrame(steps, columns=[*_STEP, *parts]),
        kernels=_frame(pd, report.kernels, Kernel),
        copies=_frame(pd, report.copies, Copy),
        operators=_frame(pd, report.operators, Operator),
        overlap=_frame(pd, report.overlap, Overlap),
        threads=_frame(pd, report.threads, Thread),
    )
    for table in (tables.windows, tables.balance, tables.steps):
        if not any(isinstance(pid, str) for pid in table["pid"]):
            table["pid"] = table["pid"].astype("Int64")
    # Whole numbers that may be missing would otherwise become floats.
    for table, columns in (
        (tables.windows, ("step", "device")),
        (tables.findings, ("line",)),
        (tables.balance, ("device",)),
        (tables.steps, ("device", "devices", "kernels")),
        (tables.kernels, ("blocks", "block_threads")),
        (tables.copies, ("bytes", "median_bytes")),
    ):
        for column in columns:
            table[column] = table[column].astype("Int64")
    return tables


def _balance(b: Balance, names: list[str]) -> dict[str, Any]:
    return (
        _row(b, _BALANCE)
        | {f"idle_{name}_us": b.idle_us[name] for name in names}
        | {"idle_unattributed_us": b.unattributed_us}
        | {f"excess_{name}_us": b.excess_us[name] for name in names}
    )


def _frame(pd: Any, rows: tuple[Any, ...], kind: type[Any]) -> Any:
    return pd.DataFrame(rows, columns=[field.name for field in fields(kind)])


def _row(record: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "Report.to_pandas needs pandas: pip install 'torchtraceap[pandas]'"
        ) from error
    return pandas
