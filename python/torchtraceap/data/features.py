# SPDX-License-Identifier: BSD-3-Clause
"""features.py: a report's windows and events as arrays, for training and for notebooks.

Columns have one table, in the core; nothing here knows a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core
from torchtraceap._core import FeatureColumn, Location


@dataclass(frozen=True, eq=False)
class Features:
    """The windows of a report and the events in them as arrays.

    All are read-only views of the core's memory: nothing is copied, and the memory
    lives as long as one of them does.
    """

    #: A row for each of ``report.windows``, in their order, or for each group of merged
    #: neighbors; float32. Shares are 0 to 1.
    #: NaN where a column does not apply, as ``table()`` documents: the columns of a
    #: device in a trace without device work, the length of kernels where none ran.
    windows: NDArray[np.float32] = field(repr=False)
    columns: tuple[str, ...] = field(repr=False)  #: The names of its columns.
    #: By name, a value for each event that a window counts, window after window, in
    #: each by start.
    tokens: dict[str, NDArray[np.generic]] = field(repr=False)
    #: The tokens of window i are ``token_begin[i]`` to ``token_begin[i + 1]``; int64.
    token_begin: NDArray[np.int64] = field(repr=False)
    #: Of each token the number of its event in the trace, the row of ``Trace.columns``
    #: and of the table of events; uint32. Says who it is, and is nothing to learn from.
    row: NDArray[np.uint32] = field(repr=False)
    #: Window i is ``report.windows[window_begin[i]:window_begin[i + 1]]``, one of them
    #: unless they were merged; int64.
    window_begin: NDArray[np.int64] = field(repr=False)
    #: Of the definition of all columns and kinds. A model trained on arrays of another
    #: fingerprint must not read these.
    fingerprint: str
    _trace: _core.Trace = field(repr=False)
    _report: _core.Report = field(repr=False)

    def names(self, tokens: Iterable[int]) -> list[str]:
        """Return the names of the events of some tokens; IndexError for -1, none."""
        return [self._trace.name(row) for row in self._rows(tokens)]

    def locations(self, tokens: Iterable[int]) -> list[Location | None]:
        """Return the lines of the program behind some tokens, as findings name them;
        None of one for which the trace tells none; IndexError for -1, no token."""
        return self._report.frames(self._rows(tokens))

    def _rows(self, tokens: Iterable[int]) -> list[int]:
        numbers = list(tokens)
        if wrong := [number for number in numbers if number < 0]:
            raise IndexError(f"no token {wrong[0]}: in parent and launch -1 means none")
        return [int(self.row[number]) for number in numbers]

    @staticmethod
    def table() -> tuple[FeatureColumn, ...]:
        """Return what the columns of ``windows`` hold."""
        return tuple(_core.feature_columns())

    @staticmethod
    def token_table() -> tuple[FeatureColumn, ...]:
        """Return what the columns of ``tokens`` hold."""
        return tuple(_core.token_columns())

    @staticmethod
    def kinds() -> dict[str, str]:
        """Return the names of the token kinds, numbered from 0, with their meanings."""
        return dict(_core.event_kinds())


def read_features(core: _core.Report, trace: _core.Trace, merge: int) -> Features:
    """Compute the arrays of a report, again at each call."""
    arrays = core.features(merge)
    return Features(
        windows=arrays.windows,
        tokens=arrays.tokens,
        token_begin=arrays.token_begin,
        row=arrays.row,
        window_begin=arrays.window_begin,
        columns=tuple(column.name for column in _core.feature_columns()),
        fingerprint=_core.feature_fingerprint(),
        _trace=trace,
        _report=core,
    )
