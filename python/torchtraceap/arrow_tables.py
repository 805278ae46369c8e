# SPDX-License-Identifier: BSD-3-Clause
"""arrow_tables.py: the report's tables as Arrow tables, and in Parquet files."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from torchtraceap.table_columns import Column
from torchtraceap.table_folder import table_paths
from torchtraceap.tables import Tables
from torchtraceap.target_file import replacing

if TYPE_CHECKING:
    import os

    import pyarrow as pa

    from torchtraceap.report import Report


def arrow_tables(report: Report, asked: str = "Report.to_arrow") -> Tables[pa.Table]:
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


def write_parquet(report: Report, folder: str | os.PathLike[str]) -> None:
    """Write a file for each table. Raises what `table_paths` does, and ImportError."""
    tables = arrow_tables(report, "Report.to_parquet")
    import pyarrow.parquet

    # All are whole before the first takes its place: the tables are of one report.
    with ExitStack() as stack:
        for name, path in table_paths(report, folder):
            new = stack.enter_context(replacing(path))
            with open(new, "wb") as file:
                pyarrow.parquet.write_table(tables[name], file)


def _array(pa: Any, column: Column) -> Any:
    values = column.values
    if isinstance(values, list):
        return pa.array(values, _type(pa, column.kind))
    # Without a copy, so the gaps are bits beside the numbers; pa.array would copy.
    gaps = None
    if column.missing is not None and column.missing.any():
        import numpy as np

        gaps = pa.py_buffer(np.packbits(~column.missing, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    array = pa.Array.from_buffers(kind, len(values), [gaps, pa.py_buffer(values)])
    if column.words is None:
        return array
    return pa.DictionaryArray.from_arrays(array, pa.array(column.words, pa.string()))


def _type(pa: Any, kind: str) -> Any:
    types = {"text": pa.string(), "float": pa.float64(), "bool": pa.bool_()}
    return types.get(kind, pa.int64())
