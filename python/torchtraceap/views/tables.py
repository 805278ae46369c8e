# SPDX-License-Identifier: BSD-3-Clause
"""tables.py: the report as tables of pandas and Arrow, and as Parquet files.

table_columns.py says which tables there are, and what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from torchtraceap.base.files import BESIDE, filling, refuse_trace
from torchtraceap.report_data import ReportData
from torchtraceap.views.table_columns import TABLES, Column

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Form = TypeVar("Form")
# By the kind of a column, as pandas calls them, and Arrow in small letters. Missing
# values are pd.NA, of a float NaN.
_DTYPES = {
    "text": "string",
    "int": "int64",
    "int?": "Int64",
    "float": "float64",
    "bool": "bool",
}


class Tables(Mapping[str, Form], Generic[Form]):
    """A report's tables by name, ``tables.findings`` or ``tables["findings"]``.

    Each is made when it is first asked for. Times are microseconds, as in the report.
    """

    windows: Form  # One row a window.
    labels: Form  # One row a label; `window` is the index of its window.
    findings: Form  # One row a finding, in their order.
    balance: Form  # One row a device or process; a column `idle_<pattern>_us` each.
    steps: Form  # One row a step, with the columns of `balance`.
    kernels: Form  # One row a kernel, as `Report.kernels`.
    copies: Form  # One row a kind of copy, as `Report.copies`.
    operators: Form  # One row an operator, as `Report.operators`.
    roofline: Form  # One row an operator with its inputs, as `Report.roofline`.
    #: One row a device, then its steps, as `Report.utilization`.
    utilization: Form
    engine_steps: Form  # One row a forward pass, as `Report.engine_steps`.
    engine_kinds: Form  # One row a kind of them, as `Report.engine_kinds`.
    collectives: Form  # One row a size of a collective, as `Report.collectives`.
    graphs: Form  # One row a CUDA or HIP graph, as `Report.graphs`.
    graph_parts: Form  # One row an annotation; `graph` is the number of its graph.
    graph_nodes: Form  # One row a node, as `Report.graph_nodes`.
    memory: Form  # One row a device, or the host, as `Report.memory`.
    memory_alive: Form  # One row of its `alive`; `memory` is the index of its row.
    memory_line: Form  # One row a point of its `line`, likewise.
    overlap: Form  # One row a device, as `Report.overlap`.
    threads: Form  # One row a thread, as `Report.threads`.
    events: Form  # One row an event of the trace, in the order of `Trace.columns`.

    def __init__(
        self, report: ReportData, form: Callable[[list[Column]], Form]
    ) -> None:
        self._report = report
        self._form = form

    def __getattr__(self, name: str) -> Form:
        if name not in TABLES:  # Of a private name too: copy and pickle ask for some.
            there = ", ".join(TABLES)
            raise AttributeError(f"there is no table {name!r}; there are: {there}")
        table = self._form(TABLES[name](self._report))
        vars(self)[name] = table
        return table

    def __getitem__(self, name: str) -> Form:
        if name not in TABLES:
            raise KeyError(name)
        table: Form = getattr(self, name)
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def __repr__(self) -> str:
        return f"<torchtraceap.Tables: {', '.join(TABLES)}>"


def pandas_tables(report: ReportData) -> Tables[pd.DataFrame]:
    """Return the tables. Raises ImportError, which names the extra."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "Report.to_pandas needs pandas: pip install 'torchtraceap[pandas]'"
        ) from error

    def frame(columns: list[Column]) -> Any:
        return pandas.DataFrame({c.name: _series(pandas, c) for c in columns})

    return Tables(report, frame)


def _series(pd: Any, column: Column) -> Any:
    if column.words is not None:
        words = pd.Index(column.words, dtype="str")  # Also where there are none.
        codes = pd.Categorical.from_codes(column.values, words, validate=False)
        return pd.Series(codes)
    if isinstance(column.values, list):
        return pd.Series(column.values, dtype=_DTYPES[column.kind])
    if column.kind == "int?":  # Whose dtype is that of the numbers: Int64 or Int32.
        return pd.Series(pd.arrays.IntegerArray(column.values, column.missing))
    return pd.Series(column.values)


def arrow_tables(
    report: ReportData, asked: str = "Report.to_arrow"
) -> Tables[pa.Table]:
    """Return the tables. Raises ImportError, which names the extra."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"{asked} needs pyarrow: pip install 'torchtraceap[arrow]'"
        ) from error

    def table(columns: list[Column]) -> Any:
        return pyarrow.table({c.name: _array(pyarrow, c) for c in columns})

    return Tables(report, table)


def _array(pa: Any, column: Column) -> Any:
    values = column.values
    if isinstance(values, list):
        return pa.array(values, arrow_type(column))
    # Without a copy, so the gaps are bits beside the numbers; pa.array would copy.
    gaps = None
    if column.missing is not None and column.missing.any():
        gaps = pa.py_buffer(np.packbits(~column.missing, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    array = pa.Array.from_buffers(kind, len(values), [gaps, pa.py_buffer(values)])
    if column.words is None:
        return array
    return pa.DictionaryArray.from_arrays(array, pa.array(column.words, pa.string()))


def arrow_type(column: Column) -> pa.DataType:
    """Return Arrow's type of a column that is a list."""
    import pyarrow

    return pyarrow.type_for_alias(_DTYPES[column.kind].lower())


def write_parquet(report: ReportData, folder: str | os.PathLike[str]) -> None:
    """Write a file for each table into a folder, all of them or none.

    Raises ImportError, which names the extra, OSError if something cannot be written,
    ValueError if the folder holds other things, or the trace itself.
    """
    tables = arrow_tables(report, "Report.to_parquet")
    import pyarrow.parquet

    check_folder(folder)
    for name in TABLES:
        old = os.path.join(folder, f"{name}.parquet")
        refuse_trace(old, report.trace.path, "folder")
    with filling(folder) as new:
        for name in TABLES:
            with open(os.path.join(new, f"{name}.parquet"), "wb") as file:
                pyarrow.parquet.write_table(tables[name], file)


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise ValueError if the folder holds anything but our own files.

    So what is written can replace the tables of another report, but no file of the
    user's that happens to have the name of one.
    """
    known = {f"{name}.parquet" for name in TABLES}
    try:
        there = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in there:
        if entry.name.startswith(BESIDE):  # Somebody is writing, or was killed.
            continue
        if entry.name not in known or not entry.is_file(follow_symlinks=False):
            raise ValueError(
                f"the folder {os.fspath(folder)} holds {entry.name}, which is none of "
                "the tables. Give a new or an empty folder, or one of such tables, "
                "which are replaced."
            )
