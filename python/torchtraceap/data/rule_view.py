# SPDX-License-Identifier: BSD-3-Clause
"""rule_view.py: what a user's own rule sees of a trace, as NumPy arrays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from torchtraceap import _core
from torchtraceap._core import Location


class RuleView:
    """A trace laid out in time, and the time that no rule has claimed so far.

    Rows are numbers of events, the same in all arrays; -1 means none. Times are
    int64 nanoseconds on the trace's clock, spans half-open. Arrays may be kept; the
    view can be asked only while the rule runs.

    Attributes:
        trace: The trace, as ``torchtraceap.load`` gives it.
        thresholds: The rule's own, as they are set; with ``min_share``.
    """

    def __init__(
        self,
        core: _core.RuleContext,
        trace: _core.Trace,
        thresholds: Mapping[str, float],
    ) -> None:
        self._core = core
        self.trace = trace
        self.thresholds = dict(thresholds)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Read-only columns of the events: ``ts``, ``dur``, ``name``, ``pid``, ..."""
        return dict(self.trace.columns)

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """Of each row, the host event around it on its thread."""
        return self._core.parents()

    @cached_property
    def launches(self) -> NDArray[np.int64]:
        """Of each kernel, copy and memset, the call that launched it."""
        return self._core.launches()

    @cached_property
    def lanes(self) -> NDArray[np.int64]:
        """Of each row, a number of its thread or stream; -1 if it takes no time there,
        as flow arrows, metadata and copies of annotations on the device do not."""
        return self._core.lanes()

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """Number, begin and end of each ``ProfilerStep#N``, by begin."""
        return self._core.steps()

    @property
    def span_ns(self) -> tuple[int, int]:
        """Begin and end of the analyzed time."""
        return self._core.span

    @property
    def devices(self) -> list[int]:
        """Numbers of the devices that worked; none in a CPU-only trace. In a file of
        several ranks that all have a device 0, the others' are numbers of their own."""
        return self._core.devices

    def idle(
        self, device: int | None = None, *, pid: int | None = None
    ) -> NDArray[np.int64]:
        """Return what is left of a device's idle time: begin and end of each stretch.

        Of a CPU-only trace, and only there, None gives what is left of the time of
        the process with the most events, or of ``pid``, a number as in ``columns``.
        """
        return self._core.idle(device, pid)

    def busy(self, device: int) -> NDArray[np.int64]:
        """Return what is left of a device's busy time, in the same form."""
        return self._core.busy(device)

    def rows(
        self, *, name: str | re.Pattern[str] | None = None, category: str | None = None
    ) -> NDArray[np.int64]:
        """Return the rows that took time on a thread or a stream, by their begin;
        of those that begin together, the longer one first.

        Args:
            name: Only those with this name, or in whose name the expression is found.
            category: Only those of this category, such as ``"cpu_op"``.
        """
        chosen = self.lanes >= 0
        if category is not None:
            number = _core.category_number(category)
            if number is None:
                raise ValueError(f"there is no category {category!r}")
            chosen &= self.columns["category"] == number
        if name is not None:
            fits = name.__eq__ if isinstance(name, str) else name.search
            ids = [i for i, text in enumerate(self._strings) if fits(text)]
            chosen &= np.isin(self.columns["name"], ids)
        rows = np.flatnonzero(chosen)
        starts, lengths = self.columns["ts"][rows], self.columns["dur"][rows]
        return rows[np.lexsort((-lengths, starts))]

    def is_device_work(self, row: int) -> bool:
        """Tell whether an event is a kernel, copy or memset on a stream."""
        return self._core.on_stream(row)

    def device_of(self, row: int) -> int:
        """Return the device of a kernel, copy or memset, as `devices` has it; -1 of
        other events."""
        return self._core.device_of(row)

    def names(self, rows: ArrayLike) -> list[str]:
        """Return the names of events."""
        return [self.trace.name(row) for row in self._rows(rows)]

    def args(self, rows: ArrayLike) -> list[dict[str, Any]]:
        """Return the args of events. Reads the file again: ask for many at once."""
        texts = self.trace.read_args(self._rows(rows))
        return [json.loads(text) if text else {} for text in texts]

    def frames(self, rows: ArrayLike) -> list[Location | None]:
        """Return the deepest frame of the user's Python code around each event, or
        around its launch; None if the trace has no such frame. Ask for many at once."""
        return self._core.frames(self._rows(rows))

    @cached_property
    def _strings(self) -> list[str]:
        return self.trace.strings

    def _rows(self, rows: ArrayLike) -> list[int]:
        array = np.atleast_1d(np.asarray(rows))
        if array.size == 0:
            return []
        if not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"rows must be integers, but are of type {array.dtype}")
        if array.min() < 0 or array.max() >= len(self.trace):
            raise IndexError(f"rows must be from 0 to {len(self.trace) - 1}")
        numbers: list[int] = array.ravel().tolist()
        return numbers
