# SPDX-License-Identifier: BSD-3-Clause
"""pandas_tables.py: the report's tables as pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchtraceap.table_columns import Column
from torchtraceap.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

    from torchtraceap.report import Report

# Of these kinds, missing values are pd.NA; of a float, NaN.
_DTYPES = {
    "text": "string",
    "int": "int64",
    "int?": "Int64",
    "float": "float64",
    "bool": "bool",
}


def pandas_tables(report: Report) -> Tables[pd.DataFrame]:
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
