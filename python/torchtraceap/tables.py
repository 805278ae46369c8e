# SPDX-License-Identifier: BSD-3-Clause
"""tables.py: the report as pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from torchtraceap.report import Report


class Tables(NamedTuple):
    """A report's rows. Times are microseconds, as in the report."""

    windows: pd.DataFrame  # One row a window.
    labels: pd.DataFrame  # One row a label; `window` is the index of its window.
    findings: pd.DataFrame  # One row a finding, most wasted time first.
    balance: pd.DataFrame  # One row a device; a column `idle_<pattern>_us` each.


_WINDOW = ("index", "start_us", "end_us", "step", "device", "events", "busy_us")
_SCORES = ("cpu_score", "gpu_score", "wasted_us")
_LABEL = ("pattern", "side", "score", "origin", "wasted_us")
_FINDING = ("id", "pattern", "subtype", "side", "severity", "count", "wasted_us")
_FINDING_REST = ("operator", "message", "advice")
_LOCATION = ("file", "line", "function")


def make_tables(report: Report) -> Tables:
    """Return the four tables. Columns are there even if no row is."""
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
    balance = [
        _row(b, ("device", "span_us", "busy_us"))
        | {f"idle_{name}_us": us for name, us in b.idle_us.items()}
        | {"idle_unattributed_us": b.unattributed_us}
        | {f"excess_{name}_us": us for name, us in b.excess_us.items()}
        for b in report.balance
    ]
    tables = Tables(
        windows=pd.DataFrame(windows, columns=[*_WINDOW, *_SCORES]),
        labels=pd.DataFrame(labels, columns=["window", *_LABEL]),
        findings=pd.DataFrame(
            findings, columns=[*_FINDING, "idle_us", *_LOCATION, *_FINDING_REST]
        ),
        balance=pd.DataFrame(balance),
    )
    # Whole numbers that may be missing would otherwise become floats.
    for column in ("step", "device"):
        tables.windows[column] = tables.windows[column].astype("Int64")
    tables.findings["line"] = tables.findings["line"].astype("Int64")
    return tables


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
