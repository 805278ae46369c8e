# SPDX-License-Identifier: BSD-3-Clause
"""event_table.py: the events of a trace as columns, without a loop over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.identity import identity
from torchtraceap.table_columns import Column

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

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


def event_columns(trace: _core.Trace) -> list[Column]:
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
    import numpy as np

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
    import numpy as np

    different = np.unique(values if missing is None else values[~missing])
    codes = np.searchsorted(different, values).astype("i4")
    if missing is not None:
        codes[missing] = -1
    words = [text(int(value)) for value in different]
    return Column(name, "text", codes, missing, words)
